"""Networks: checkpoints, weights as arrays, training."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bundlenet
from bundlenet import GeneralizedAssignment, Model

CONFIG: dict[str, Any] = {
    "name": "small",
    "data": {"train": ["generate:ga-10-100:8:1"]},
    "evolution": {"generations": 4, "pairs": 4, "batch": 2},
    "validation": {"steps": [5, 10], "generations": 2},
}


def test_the_general_model_is_there() -> None:
    model = Model.general()
    assert model.card["name"] == "general" and repr(model).startswith('Model("general", weight_count=')
    result = GeneralizedAssignment.generate("ga-10-100", 1).solve(method="network", steps=10)
    same = GeneralizedAssignment.generate("ga-10-100", 1).solve(method="network", steps=10, model=model)
    assert result.fun == same.fun


def test_checkpoints_come_back_as_they_went(tmp_path: Path) -> None:
    model = Model.untrained({"hidden": 4, "decoder": 5}, seed=3)
    model.save(tmp_path / "model.safetensors")
    read = Model.load(tmp_path / "model.safetensors")
    assert read.architecture == model.architecture and read.architecture["hidden"] == 4
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(array, read.state_dict()[name])
    model.save(tmp_path / "half.safetensors", half=True)
    size = [(tmp_path / f"{name}.safetensors").stat().st_size for name in ("half", "model")]
    assert size[0] < size[1]
    with pytest.raises(FileNotFoundError, match="cannot read"):
        Model.load(tmp_path / "missing")
    (tmp_path / "no.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="expected a checkpoint in the safetensors format"):
        Model.load(tmp_path / "no.safetensors")
    with pytest.raises(ValueError, match="network.hidden"):
        Model.untrained({"hidden": 0})
    with pytest.raises(ValueError, match="architecture: unknown field `width`"):
        Model.untrained({"width": 0})


def test_weights_have_the_names_and_shapes_of_pytorch() -> None:
    state = Model.untrained({"hidden": 4}).state_dict()
    assert state["lstm.weight_hh_l0"].shape == (48, 12)
    assert state["lstm.weight_ih_l0"].dtype == np.float32
    assert all(isinstance(array, np.ndarray) for array in state.values())


def test_weights_go_back_in() -> None:
    problem = GeneralizedAssignment.generate("ga-10-100", 1)
    general, other = Model.general(), Model.untrained(Model.general().architecture, seed=5)
    expected = problem.solve(method="network", steps=10, model=general).fun
    assert problem.solve(method="network", steps=10, model=other).fun != expected
    other.load_state_dict(general.state_dict())
    assert problem.solve(method="network", steps=10, model=other).fun == expected
    changed = {name: array * 0 if "bias" in name else array for name, array in general.state_dict().items()}
    general.load_state_dict(changed)
    # The one that is built in stays as it is.
    assert problem.solve(method="network", steps=10).fun == expected


def test_weights_that_do_not_fit_are_named() -> None:
    model = Model.general()
    state: dict[str, Any] = dict(model.state_dict())
    with pytest.raises(ValueError, match="found more.weight as well"):
        model.load_state_dict({**state, "more.weight": np.zeros(3)})
    with pytest.raises(ValueError, match="tensor lstm.bias_ih_l0 of shape"):
        model.load_state_dict({**state, "lstm.bias_ih_l0": np.zeros(3)})
    with pytest.raises(ValueError, match="lstm.bias_ih_l0: expected an array of one dimension"):
        model.load_state_dict({**state, "lstm.bias_ih_l0": np.zeros((3, 3))})
    with pytest.raises(ValueError, match="finite"):
        model.load_state_dict({**state, "lstm.bias_ih_l0": state["lstm.bias_ih_l0"] * np.nan})
    del state["lstm.bias_hh_l0"]
    with pytest.raises(ValueError, match="lstm.bias_hh_l0.*no tensor of that name"):
        model.load_state_dict(state)


def test_models_are_pickled() -> None:
    model = pickle.loads(pickle.dumps(Model.general()))
    assert model.card == Model.general().card


def test_a_network_is_trained(tmp_path: Path) -> None:
    seen: list[bundlenet.TrainingProgress] = []
    model = bundlenet.train(CONFIG, out=tmp_path / "run", callback=seen.append)
    assert model.card["name"] == "small" and len(model.card["validation_gaps"]) == 2
    assert {progress.stage for progress in seen} == {"optima", "evolution"}
    assert [progress.done for progress in seen if progress.stage == "evolution"] == [1, 2, 3, 4]
    assert seen[-1].gaps is not None and seen[-1].loss is not None and "evolution" in repr(seen[-1])
    metrics = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert json.loads(metrics[-1])["generations"] == 4
    with pytest.raises(ValueError, match="expected an empty folder"):
        bundlenet.train(CONFIG, out=tmp_path / "run")


def test_a_file_says_the_same_as_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        'name = "small"\n[evolution]\ngenerations = 4\npairs = 4\nbatch = 2\n'
        "[validation]\nsteps = [5, 10]\ngenerations = 2\n"
    )
    file = bundlenet.train(tmp_path / "config.toml", out=tmp_path / "a", data="generate:ga-10-100:8:1", threads=1)
    mapping = bundlenet.train(CONFIG, out=tmp_path / "b", threads=2)
    for name, array in file.state_dict().items():
        np.testing.assert_array_equal(array, mapping.state_dict()[name])


def test_a_training_may_be_ended_and_go_on(tmp_path: Path) -> None:
    whole = bundlenet.train(CONFIG, out=tmp_path / "whole")
    bundlenet.train(CONFIG, out=tmp_path / "parts", callback=lambda progress: progress.stage == "evolution")
    parts = bundlenet.train(out=tmp_path / "parts", resume=True)
    for name, array in whole.state_dict().items():
        np.testing.assert_array_equal(array, parts.state_dict()[name])


def test_trainings_that_cannot_begin_say_why(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="data.train: expected at least one"):
        bundlenet.train(out=tmp_path)
    with pytest.raises(ValueError, match="config: unknown field `speed`"):
        bundlenet.train({"speed": 1}, out=tmp_path)
    with pytest.raises(FileNotFoundError, match="cannot read"):
        bundlenet.train("missing.toml", out=tmp_path)
    (tmp_path / "bad.toml").write_text("[gradient]\nrates = 1\n")
    with pytest.raises(ValueError, match="(?s)bad.toml: .*line 2.*rates"):
        bundlenet.train(tmp_path / "bad.toml", out=tmp_path)

    def fail(progress: bundlenet.TrainingProgress) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        bundlenet.train(CONFIG, out=tmp_path, callback=fail)
