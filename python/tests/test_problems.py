"""Instances, their duals, their bounds."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bundlenet
from bundlenet import FacilityLocation, GeneralizedAssignment, NetworkDesign, Problem, UnitCommitment

#: The arrays of a network design instance.
DESIGN = ["tails", "heads", "fixed_costs", "capacities", "origins", "destinations", "demands", "routing_costs"]


def test_families_are_the_same_in_every_run() -> None:
    first, again = (NetworkDesign.generate("mc-sml-40", 7) for _ in range(2))
    np.testing.assert_array_equal(first.routing_costs, again.routing_costs)
    other = NetworkDesign.generate("mc-sml-40", 7, index=1)
    assert other.solve(steps=1).fun != first.solve(steps=1).fun
    assert repr(first) == "NetworkDesign(nodes=20, arcs=226, commodities=40)"
    assert repr(GeneralizedAssignment.generate("ga-10-100", 7)).startswith("GeneralizedAssignment(bins=10, items=100")


def test_classes_hold_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "instance.json"
    problem = Problem.generate("ga-10-100", 1)
    assert isinstance(problem, GeneralizedAssignment) and isinstance(problem, Problem)
    problem.write(path)
    assert isinstance(Problem.read(path), GeneralizedAssignment)
    with pytest.raises(ValueError, match="instance.json: expected an instance of NetworkDesign, found generalised"):
        NetworkDesign.read(path)
    with pytest.raises(ValueError, match="expected an instance of NetworkDesign"):
        NetworkDesign.generate("ga-10-100", 1)
    with pytest.raises(TypeError):
        Problem()


@pytest.mark.parametrize("extension", ["json", "dat", "json.gz"])
def test_designs_survive_being_written(tmp_path: Path, extension: str) -> None:
    problem = NetworkDesign.generate("mc-sml-40", 2, commodities=3)
    problem.write(tmp_path / f"design.{extension}")
    read = NetworkDesign.read(str(tmp_path / f"design.{extension}"))
    assert read.commodities == 3
    assert read.solve().fun == pytest.approx(problem.solve().fun, rel=1e-6)


def test_assignment_texts_have_the_sense_that_is_asked_for(tmp_path: Path) -> None:
    problem = GeneralizedAssignment.generate("ga-10-100", 2)
    problem.write(tmp_path / "items.txt")
    assert GeneralizedAssignment.read(tmp_path / "items.txt").sense == "min"
    assert GeneralizedAssignment.read(tmp_path / "items.txt", sense="max").dual().sense == "min"


def test_errors_are_those_of_the_library(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="cannot read .*missing.dat"):
        NetworkDesign.read(tmp_path / "missing.dat")
    (tmp_path / "bad.json").write_text('{"nodes": 3}')
    with pytest.raises(ValueError, match="bad.json: line 1: expected"):
        NetworkDesign.read(tmp_path / "bad.json")
    with pytest.raises(ValueError, match="family: expected one of mc-sml-40"):
        NetworkDesign.generate("mc", 1)
    with pytest.raises(ValueError, match="extension of .*what"):
        NetworkDesign.generate("mc-sml-40", 1).write(tmp_path / "file.what")
    with pytest.raises(OSError, match="cannot write"):
        NetworkDesign.generate("mc-sml-40", 1).write(tmp_path / "no" / "file.json")
    with pytest.raises(OverflowError):
        NetworkDesign.generate("mc-sml-40", -1)


def test_designs_are_built_from_arrays() -> None:
    original = NetworkDesign.generate("mc-sml-40", 4)
    data: dict[str, Any] = {name: getattr(original, name) for name in DESIGN}
    copy = NetworkDesign(original.nodes, **data)
    assert copy.solve(steps=5).fun == original.solve(steps=5).fun
    with pytest.raises(ValueError, match="capacity of arc 0: expected a positive finite number, found -1"):
        NetworkDesign(original.nodes, **{**data, "capacities": -np.ones(original.arcs)})
    with pytest.raises(ValueError, match="arcs: expected arrays of the same length"):
        NetworkDesign(original.nodes, **{**data, "tails": [0, 1]})
    with pytest.raises(ValueError, match=r"routing_costs: expected shape \(226, 40\)"):
        NetworkDesign(original.nodes, **{**data, "routing_costs": data["routing_costs"].T})
    with pytest.raises(ValueError, match="tails: expected entry 0 to be a whole number, found .*.5"):
        NetworkDesign(original.nodes, **{**data, "tails": data["tails"] + 0.5})


def test_assignments_are_built_from_arrays() -> None:
    original = GeneralizedAssignment.generate("ga-10-100", 4)
    copy = GeneralizedAssignment(original.profits, original.weights, original.capacities, sense=original.sense)
    assert copy.solve(steps=5).fun == original.solve(steps=5).fun
    fortran = GeneralizedAssignment(np.asfortranarray(original.profits), original.weights, original.capacities.tolist())
    np.testing.assert_array_equal(fortran.profits, original.profits)
    with pytest.raises(ValueError, match="weights: expected entry 0"):
        GeneralizedAssignment([[1.0]], [[-1]], [3])
    with pytest.raises(ValueError, match="weights: expected a row for each of 1 bins"):
        GeneralizedAssignment([[1.0]], [[1], [1]], [3])
    with pytest.raises(ValueError, match="sense"):
        GeneralizedAssignment([[1.0]], [[1]], [3], sense="maximum")  # type: ignore[arg-type]


def test_facility_locations_are_built_read_and_solved(tmp_path: Path) -> None:
    original = FacilityLocation.generate("cfl-20-50", 4)
    assert repr(original) == "FacilityLocation(sites=20, customers=50)"
    assert (original.sites, original.customers, original.dual().bounds) == (20, 50, (None, None))
    data: dict[str, Any] = {name: getattr(original, name) for name in ("demands", "capacities", "fixed_costs")}
    same = FacilityLocation(original.costs, **data)
    assert same.solve(steps=5).fun == original.solve(steps=5).fun
    for extension in ("txt", "json"):
        same.write(tmp_path / f"location.{extension}")
        read = Problem.read(tmp_path / f"location.{extension}")
        assert isinstance(read, FacilityLocation)
        np.testing.assert_array_equal(read.costs, original.costs)
    reference = original.reference()
    assert reference.status == "optimal"
    assert original.solve().fun == pytest.approx(reference.fun, rel=1e-6)
    assert float(original.safe_bound(reference.x)) == pytest.approx(reference.fun, rel=1e-9)
    free = FacilityLocation([[1.0, 2.0]], demands=[1.0, 0.0], capacities=[np.inf], fixed_costs=[3.0])
    assert free.solve().fun == pytest.approx(6.0)
    assert np.isinf(pickle.loads(pickle.dumps(free)).capacities[0])
    with pytest.raises(ValueError, match="capacity of site 0: expected a positive number, found 0"):
        FacilityLocation([[1.0]], demands=[1.0], capacities=[0.0], fixed_costs=[3.0])
    with pytest.raises(ValueError, match=r"costs: expected shape \(1, 2\)"):
        FacilityLocation([[1.0]], demands=[1.0, 1.0], capacities=[1.0], fixed_costs=[3.0])
    (tmp_path / "open.txt").write_text("1 1\ncapacity 3\n1\n2\n")
    with pytest.raises(ValueError, match="capacity"):
        Problem.read(tmp_path / "open.txt")
    opened = FacilityLocation.read(tmp_path / "open.txt", capacity=4.0)
    assert opened.capacities.tolist() == [4.0]


#: Numbers that a careless text would change.
HARD = [0.1, 1 / 3, 1e300, 5e-324, -0.0, 2.0**53 + 2]
COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    *(lambda problem, version=version: pickle.loads(pickle.dumps(problem, version)) for version in range(2, 6)),
]


@pytest.mark.parametrize("duplicate", COPIES, ids=range(len(COPIES)))
@pytest.mark.parametrize("sense", ["min", "max"])
def test_assignments_are_pickled_and_copied_exactly(duplicate: Callable[[Any], Any], sense: Any) -> None:
    problem = GeneralizedAssignment([HARD, HARD[::-1]], [[2**32 - 1, 0, 1, 2, 3, 4]] * 2, [7, 2**32 - 1], sense=sense)
    other = duplicate(problem)
    assert type(other) is GeneralizedAssignment and other.sense == sense == problem.sense
    for name in ("profits", "weights", "capacities"):
        # Bytes: -0 is not 0.
        assert getattr(other, name).tobytes() == getattr(problem, name).tobytes()


@pytest.mark.parametrize("duplicate", COPIES, ids=range(len(COPIES)))
def test_designs_are_pickled_and_copied_exactly(duplicate: Callable[[Any], Any]) -> None:
    problem = NetworkDesign.generate("mc-sml-40", 3)
    data: dict[str, Any] = {name: getattr(problem, name) for name in DESIGN}
    data["routing_costs"] = np.resize(np.abs(HARD), data["routing_costs"].shape)
    problem = NetworkDesign(problem.nodes, **data)
    other = duplicate(problem)
    assert type(other) is NetworkDesign and other.nodes == problem.nodes
    for name in DESIGN:
        assert getattr(other, name).tobytes() == getattr(problem, name).tobytes()


@pytest.mark.parametrize("family", ["mc-sml-40", "ga-10-100", "cfl-20-50"])
def test_duals_obey_the_subgradient_inequality(family: str) -> None:
    dual = Problem.generate(family, 1).dual()
    sign = 1 if dual.sense == "min" else -1
    random = np.random.default_rng(1)
    points = np.abs(random.normal(size=(10, dual.dim)))
    answers = [dual(point) for point in points]
    for x, (value, subgradient) in zip(points, answers, strict=True):
        assert subgradient.shape == x.shape
        for y, (other, _) in zip(points, answers, strict=True):
            assert sign * other >= sign * (value + subgradient @ (y - x)) - 1e-9 * abs(value)


def test_duals_refuse_what_is_no_point() -> None:
    dual = GeneralizedAssignment.generate("ga-10-100", 1).dual()
    assert dual.bounds == (0.0, None) and repr(dual) == 'Dual(dim=100, sense="min")'
    with pytest.raises(ValueError, match="expected 100, found 3"):
        dual(np.zeros(3))
    with pytest.raises(ValueError, match="expected entry 0 to be nonnegative, found -1"):
        dual(-np.ones(100))
    with pytest.raises(ValueError, match="NaN"):
        dual(np.full(100, np.nan))


def test_bounds_are_proved_and_references_exact() -> None:
    problem = NetworkDesign.generate("mc-sml-40", 7)
    result, reference = problem.solve(), problem.reference()
    assert result.status == reference.status == "optimal"
    assert reference.certificate is not None and reference.certificate <= 1e-9
    assert result.fun == pytest.approx(reference.fun, rel=1e-6)
    assert problem.dual()(result.x)[0] == pytest.approx(result.fun, rel=1e-12)


def test_safe_bounds_are_exact_fractions() -> None:
    small = GeneralizedAssignment([[3.0, 2.0]], [[1, 1]], [1])
    assert small.safe_bound([0.25, 0.5]) == Fraction(7, 2)
    problem = GeneralizedAssignment.generate("ga-10-100", 7)
    result = problem.solve()
    bound = problem.safe_bound(result.x)
    assert isinstance(bound, Fraction) and float(bound) == pytest.approx(result.fun, rel=1e-9)
    with pytest.raises(ValueError, match="0.5"):
        GeneralizedAssignment([[0.5]], [[1]], [1]).safe_bound([0.0])
    with pytest.raises(ValueError, match="2"):
        small.safe_bound([0.0])


def test_a_dual_is_a_function_like_any_other() -> None:
    problem = GeneralizedAssignment.generate("ga-10-100", 7)
    dual = problem.dual()
    result = bundlenet.minimize(dual, np.zeros(dual.dim), bounds=dual.bounds)
    assert result.fun == pytest.approx(problem.reference().fun, rel=1e-5)


def test_runs_begin_where_they_are_told_to() -> None:
    problem = NetworkDesign.generate("mc-sml-40", 7)
    best = problem.solve()
    again = problem.solve(best.x, steps=0)
    assert again.fun == best.fun
    with pytest.raises(ValueError, match="expected 800, found 3"):
        problem.solve(np.zeros(3))


def test_runs_on_several_threads_have_callbacks_too() -> None:
    problem = GeneralizedAssignment.generate("ga-20-400", 1)
    seen: list[int] = []
    result = problem.solve(threads=2, callback=lambda progress: seen.append(progress.step))
    assert seen == result.trace.step.tolist()


def test_perturbations_keep_the_shape_of_their_base() -> None:
    base = NetworkDesign.generate("mc-sml-40", 1)
    perturbed = NetworkDesign.generate("mc-sml-40", 2, base=base)
    np.testing.assert_array_equal(perturbed.tails, base.tails)
    assert not np.array_equal(perturbed.fixed_costs, base.fixed_costs) or not np.array_equal(
        perturbed.demands, base.demands
    )
    with pytest.raises(ValueError, match="expected a network design base"):
        NetworkDesign.generate("mc-sml-40", 2, base=GeneralizedAssignment.generate("ga-10-100", 1))


def test_unit_commitment_has_prices(tmp_path: Path) -> None:
    problem = UnitCommitment.generate("uc", 4)
    assert repr(problem) == 'UnitCommitment(units=60, periods=48, formulation="pglib")'
    assert len(problem.units) == 60 and problem.demand.shape == problem.reserves.shape == (48,)
    result = problem.solve(tolerance=1e-4)
    assert result.energy_prices.shape == result.reserve_prices.shape == (48,)
    assert np.all(result.reserve_prices >= 0)
    answer = problem.best_response(0, result.energy_prices, result.reserve_prices)
    income = result.energy_prices @ answer["output"] + result.reserve_prices @ answer["reserve"]
    assert income - answer["cost"] == pytest.approx(answer["profit"])
    problem.write(tmp_path / "uc.json")
    other = UnitCommitment.read(tmp_path / "uc.json", formulation="chp")
    assert other.formulation == "chp" and pickle.loads(pickle.dumps(other)).formulation == "chp"
    assert other.solve(steps=3).reserve_prices.shape == (0,)
    with pytest.raises(ValueError, match="energy_prices: expected 48 prices, found 2"):
        problem.best_response(0, [1.0, 2.0])
    with pytest.raises(ValueError, match="formulation: expected pglib or chp"):
        Problem.read(tmp_path / "uc.json", formulation="other")  # type: ignore[arg-type]
