"""Trains a small network on generated instances and compares it with an untrained network and the general model."""

import tempfile
from pathlib import Path

import numpy as np

import bundlenet

CONFIG = {
    "name": "example",
    "data": {"train": ["generate:ga-10-100:40:1"]},
    "evolution": {"generations": 20, "pairs": 8, "batch": 4},
    "validation": {"steps": [10, 25], "generations": 10},
}


def report(progress: bundlenet.TrainingProgress) -> None:
    if progress.gaps is not None:
        print(f"{progress.stage} {progress.done}/{progress.total}: gaps {progress.gaps} %")


def mean_gap(model: bundlenet.Model) -> float:
    """Mean gap in percent after 10 steps, on instances of another seed."""
    problems = [bundlenet.GeneralizedAssignment.generate("ga-10-100", seed=2, index=index) for index in range(8)]
    optima = np.array([result.fun for result in bundlenet.solve_batch(problems)])
    runs = bundlenet.solve_batch(problems, method="network", steps=10, model=model)
    return float(np.mean(100 * np.abs(np.array([run.fun for run in runs]) / optima - 1)))


with tempfile.TemporaryDirectory() as folder:
    model = bundlenet.train(CONFIG, out=Path(folder) / "run", callback=report)
    model.save(Path(folder) / "model.safetensors")
    model = bundlenet.Model.load(Path(folder) / "model.safetensors")

untrained = bundlenet.Model.untrained(model.architecture)
gaps = {"untrained": mean_gap(untrained), "trained": mean_gap(model), "general": mean_gap(bundlenet.Model.general())}
print("gap in % after 10 steps:", {name: round(gap, 4) for name, gap in gaps.items()})
assert gaps["trained"] < gaps["untrained"]

# Weights travel as arrays, under PyTorch's names: `torch.from_numpy` takes them as they are.
state = model.state_dict()
print({name: array.shape for name, array in state.items() if name.startswith("lstm")})
untrained.load_state_dict(state)
assert mean_gap(untrained) == gaps["trained"]
