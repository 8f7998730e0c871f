"""Trains a checkpoint in PyTorch: weights out, updates by Adam, weights back in.

Usage: train.py MODEL.safetensors NEW.safetensors INSTANCE.json... [--updates N] [--rate R] [--steps T] [--trace FILE]

The loss of an update is the mean of the scaled values at the trial points of one instance, as in the paper. Change
`loss_of` to train for something else. NEW has the names, types and metadata of MODEL, so that `bundlenet solve
--method network --model NEW` uses it. `--trace` writes points and values of a run of NEW on the first instance, with
the weights as they are stored. Needs numpy, torch, safetensors.
"""

import argparse
import json
from pathlib import Path

import torch
from rollout import Network, Run, assignment, load, network_design
from safetensors import safe_open
from safetensors.torch import save_file


def function_of(path):
    instance = json.loads(Path(path).read_text())
    instance = instance.get("instance", instance)
    return network_design(instance) if "tail" in instance else assignment(instance)


def rollout(architecture, weights, function, steps):
    """Trial points and their values, both with their gradients."""
    run = Run(function, architecture["metric"] == "scaled")
    network = Network(architecture, weights, run)
    visits = []
    for _ in range(steps):
        visits.append(run.follow(*network.propose(run)))
        network.unit.learn(run.last)
    return tuple(torch.stack(numbers) for numbers in zip(*visits))


def loss_of(values):
    return values.mean()


def save(source, target, weights):
    """Writes the weights with the names, types and metadata of another checkpoint."""
    with safe_open(source, framework="pt") as file:
        metadata = file.metadata()
        stored = {name: file.get_tensor(name) for name in file.keys()}
    # The cell only ever uses the sum of its two biases.
    bias = weights["lstm.bias"]
    new = {**weights, "lstm.bias_ih_l0": bias, "lstm.bias_hh_l0": torch.zeros_like(bias)}
    tensors = {name: new[name].detach().to(old.dtype).contiguous() for name, old in stored.items()}
    save_file(tensors, target, metadata=metadata)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("new")
    parser.add_argument("instances", nargs="+")
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--trace")
    options = parser.parse_args()

    architecture, weights = load(options.model)
    # Standardisation is not learned.
    learned = [weight.requires_grad_() for name, weight in weights.items() if not name.startswith("features.")]
    optimizer = torch.optim.Adam(learned, lr=options.rate)
    functions = [function_of(path) for path in options.instances]
    for update in range(options.updates):
        _, values = rollout(architecture, weights, functions[update % len(functions)], options.steps)
        loss = loss_of(values)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 5.0)
        optimizer.step()
        print(f"update {update + 1}: loss {loss.item():.9g}")
    save(options.model, options.new, weights)

    if options.trace:
        with torch.no_grad():
            points, values = rollout(*load(options.new), functions[0], options.steps)
        record = {"points": points.tolist(), "values": values.tolist()}
        Path(options.trace).write_text(json.dumps(record))


if __name__ == "__main__":
    main()
