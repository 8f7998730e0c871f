"""Sums of Python functions: components, intervals, further cuts, multiplicities, solutions and executors."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bundlenet
from bundlenet import Sum

Vector = NDArray[np.float64]
Cut = tuple[Any, ...]
DATA = Path(os.environ.get("BUNDLENET_DATA", Path(__file__).parents[3] / "shared" / "data"))


def distance(index: int, x: Vector) -> Cut:
    """`|x_i - i|`, with the side as its solution."""
    side = 1.0 if x[index] > index else -1.0
    return side * (x[index] - index), np.array([index]), np.array([side]), side


def distances(count: int = 5, **keywords: Any) -> Sum:
    return Sum([partial(distance, index) for index in range(count)], **keywords)


def without_solution(component: Callable[[Vector], Cut]) -> Callable[[Vector], Cut]:
    return lambda x: component(x)[:3]


# Duals that are built in, too.


# Masters are not solved exactly, so that steps depend on the last bits. These add up in the order of the library.


def in_lanes(numbers: Vector) -> float:
    """The sum of numbers in eight lanes."""
    lanes = np.zeros(8)
    for block in np.pad(numbers, (0, -len(numbers) % 8)).reshape(-1, 8):
        lanes += block
    four = lanes[:4] + lanes[4:]
    two = four[:2] + four[2:]
    return float(two[0] + two[1])


def in_order(numbers: Vector) -> float:
    return float(np.cumsum(numbers)[-1]) if len(numbers) > 0 else 0.0


def arc_subproblem(problem: bundlenet.NetworkDesign, arc: int) -> Callable[[Vector], Cut]:
    tail, head = int(problem.tails[arc]), int(problem.heads[arc])
    usable = (problem.origins != head) & (problem.destinations != tail)
    costs = np.where(usable, problem.routing_costs[arc], np.inf)
    fixed, capacity, demands = problem.fixed_costs[arc], problem.capacities[arc], problem.demands

    def component(x: Vector) -> Cut:
        prices = x.reshape(problem.commodities, problem.nodes)
        reduced = costs - prices[:, tail] + prices[:, head]
        order = np.argsort(reduced, kind="stable")
        order = order[reduced[order] < 0.0]
        before = np.cumsum(demands[order]) - demands[order]
        flows = np.zeros(problem.commodities)
        flows[order] = np.clip(capacity - before, 0.0, demands[order])
        used = np.flatnonzero(flows)
        # Commodities at the cost at which the capacity ends come last.
        fits = demands[order].sum() <= capacity
        is_last = (flows > 0.0) & (not fits) & (reduced == reduced[used].max(initial=-np.inf))
        value = fixed + in_lanes(np.where(is_last | (flows == 0.0), 0.0, np.where(flows > 0.0, reduced, 0.0) * flows))
        for commodity in np.flatnonzero(is_last):
            value += reduced[commodity] * flows[commodity]
        if value >= 0.0:
            return 0.0, [], []
        indices = (used * problem.nodes)[:, None] + [tail, head]
        return float(value), indices.ravel(), (flows[used][:, None] * [-1.0, 1.0]).ravel()

    return component


def network_design(problem: bundlenet.NetworkDesign) -> Sum:
    linear = np.zeros((problem.commodities, problem.nodes))
    each = np.arange(problem.commodities)
    linear[each, problem.origins] += problem.demands
    linear[each, problem.destinations] -= problem.demands
    return Sum([arc_subproblem(problem, arc) for arc in range(problem.arcs)], linear.ravel())


def bin_subproblem(profits: Vector, weights: NDArray[np.int64], capacity: int) -> Callable[[Vector], Cut]:
    """A 0/1 knapsack by dynamic programming over capacities."""

    def component(x: Vector) -> Cut:
        reduced = profits - x
        best = np.zeros(capacity + 1)
        takes = np.zeros((len(profits), capacity + 1), dtype=bool)
        for item, (profit, weight) in enumerate(zip(reduced, weights)):
            if profit <= 0.0 or weight > capacity:
                continue
            taken = best[: capacity + 1 - weight] + profit
            takes[item, weight:] = taken > best[weight:]
            best[weight:] = np.maximum(best[weight:], taken)
        chosen, room = [], capacity
        for item in range(len(profits) - 1, -1, -1):
            if takes[item, room]:
                chosen.append(item)
                room -= int(weights[item])
        chosen.reverse()
        return in_order(reduced[chosen]), np.array(chosen, dtype=np.int64), np.full(len(chosen), -1.0)

    return component


def assignment(problem: bundlenet.GeneralizedAssignment) -> Sum:
    data = zip(problem.profits, problem.weights, problem.capacities)
    return Sum([bin_subproblem(*row) for row in data], np.ones(problem.items))


Site = tuple[float, float, Vector]


def serve(site: Site, demands: Vector, x: Vector) -> Cut:
    """Serves the customers that pay, those that pay most for a unit of demand first."""
    capacity, fixed, costs = site
    reduced = costs - x
    order = np.argsort(reduced / demands)
    order = order[reduced[order] < 0.0]
    before = np.cumsum(demands[order]) - demands[order]
    shares = np.clip((capacity - before) / demands[order], 0.0, 1.0)
    value = fixed + float(reduced[order] @ shares)
    if value >= 0.0:
        return 0.0, [], [], ((), ())
    order, shares = order[shares > 0.0], shares[shares > 0.0]
    return value, order, -shares, (order, shares)


def facility_location(problem: bundlenet.FacilityLocation) -> Sum:
    total = problem.demands.sum()
    sites = [
        (min(float(capacity), total), float(fixed), costs)
        for capacity, fixed, costs in zip(problem.capacities, problem.fixed_costs, problem.costs)
    ]

    def reprice(component: int, solution: Any) -> Any:
        order, shares = solution
        if len(order) == 0:
            return 0.0, [], []
        _, fixed, costs = sites[component]
        return fixed + float(costs[order] @ shares), order, -shares

    components = [partial(serve, site, problem.demands) for site in sites]
    fingerprints = [(capacity, fixed, costs.tobytes()) for capacity, fixed, costs in sites]
    return Sum(components, np.ones(problem.customers), fingerprints=fingerprints, reprice=reprice)


@pytest.mark.parametrize(("family", "seed"), [("mc-sml-40", 1), ("ga-20-400", 2)])
def test_sums_take_the_steps_of_the_built_in_duals(family: str, seed: int) -> None:
    problem = bundlenet.Problem.generate(family, seed)
    if isinstance(problem, bundlenet.NetworkDesign):
        own, bounds = network_design(problem), None
    else:
        assert isinstance(problem, bundlenet.GeneralizedAssignment)
        own, bounds = assignment(problem), (0.0, None)
    built_in = problem.solve(method="bundle", steps=50, tolerance=0.0)
    run = bundlenet.maximize if problem.dual().sense == "max" else bundlenet.minimize
    result = run(own, 0.0, method="bundle", steps=50, tolerance=0.0, bounds=bounds)
    # A run with a tolerance of 0 ends where no step promises more than the round-off of the value.
    assert result.nit == built_in.nit >= 10
    np.testing.assert_allclose(result.trace.value, built_in.trace.value, rtol=1e-9)


@pytest.mark.skipif(not DATA.exists(), reason="needs BUNDLENET_DATA")
@pytest.mark.parametrize(("name", "calls"), [("cap41", 35), ("cap124", 40)])
def test_facility_location_needs_few_calls(name: str, calls: int) -> None:
    problem = bundlenet.FacilityLocation.read(DATA / "facility-location" / f"{name}.txt")
    optimum = problem.reference().fun
    state = bundlenet.State()
    for tolerance, most in ((1e-3, calls), (1e-6, 80)):
        target = optimum - tolerance * abs(optimum)
        result = bundlenet.maximize(facility_location(problem), target=target, steps=200)
        assert result.status == "bound-reached" and result.nfev <= most
    result = bundlenet.maximize(facility_location(problem), state=state)
    assert result.success and abs(result.fun - optimum) <= 1e-6 * optimum
    assert result.primal is not None
    served = np.zeros(problem.customers)
    for _, weight, (order, shares) in result.primal:
        np.add.at(served, np.asarray(order, dtype=int), weight * np.asarray(shares))
    np.testing.assert_allclose(served, 1.0, atol=1e-3)

    # The service costs of 5 % of the customers rise by 5 %.
    for seed in range(5):
        costs = problem.costs.copy()
        share = np.random.default_rng(seed).choice(problem.customers, round(0.05 * problem.customers), replace=False)
        costs[:, share] *= 1.05
        changed = bundlenet.FacilityLocation(
            costs, demands=problem.demands, capacities=problem.capacities, fixed_costs=problem.fixed_costs
        )
        optimum = changed.reference().fun
        own = facility_location(changed)
        again = bundlenet.maximize(own, state=state.copy(), target=optimum - 1e-6 * abs(optimum))
        assert again.status == "bound-reached" and again.nfev <= 15
        assert again.reuse is not None and again.reuse["repriced"] > 0 and again.reuse["dropped"] == 0


def test_a_sum_is_its_linear_part_and_its_components() -> None:
    linear, multiplicities = np.full(5, 0.25), [1.0, 2.0, 3.0, 1.0, 1.0]
    points: list[Vector] = []

    def recording(x: Vector) -> Cut:
        points.append(x)
        return distance(0, x)

    components: list[Callable[[Vector], Cut]] = [recording, *(partial(distance, index) for index in range(1, 5))]
    own = Sum(components, linear, multiplicities)
    start = np.array([3.0, 0.0, 7.0, 2.0, 2.0])
    for method in ("bundle", "descent", "auto"):
        result = bundlenet.minimize(own, start, method=method, steps=30)
        expected = linear @ start + multiplicities @ np.abs(start - np.arange(5))
        assert result.trace.value[0] == pytest.approx(expected)
        if method != "descent":
            np.testing.assert_allclose(result.x, np.arange(5), atol=1e-6)
            assert result.component_calls == 5 * result.nfev
    assert not points[0].flags.writeable


def test_primal_rows_have_the_weights_of_the_solutions() -> None:
    result = bundlenet.minimize(distances(multiplicities=[1.0, 2.0, 3.0, 4.0, 5.0]), np.full(5, 9.0))
    assert result.success and result.primal is not None
    for index in range(5):
        rows = [(weight, side) for component, weight, side in result.primal if component == index]
        assert sum(weight for weight, _ in rows) == pytest.approx(index + 1.0)
        assert sum(weight * side for weight, side in rows) == pytest.approx(0.0, abs=1e-6)
    assert bundlenet.minimize(distances(), np.full(5, 9.0), method="adam", steps=5).primal is None
    plain = Sum([without_solution(partial(distance, index)) for index in range(5)])
    assert bundlenet.minimize(plain, np.full(5, 9.0)).primal is None


def test_intervals_and_accuracy() -> None:
    wishes: list[float] = []

    def wide(index: int, x: Vector, accuracy: float) -> Cut:
        wishes.append(accuracy)
        width = 0.4 * min(accuracy, 1.0)
        value, indices, entries, _ = distance(index, x)
        return (value - width, value + width), indices, entries

    own = Sum([partial(wide, index) for index in range(3)], multiplicities=[1.0, 1.0, 2.0])
    result = bundlenet.minimize(own, np.full(3, 5.0), tolerance=1e-4)
    assert result.fun <= 1e-3 and math.isinf(wishes[0]) and min(wishes) < 1e-2

    def fixed_width(x: Vector) -> tuple[tuple[float, float], Vector]:
        value = float(np.abs(x).sum())
        return (value - 0.1, value + 0.1), np.sign(x)

    result = bundlenet.minimize(fixed_width, np.full(3, 5.0))
    assert result.status == "oracle-accuracy" and not result.success and result.fun <= 0.6
    result = bundlenet.maximize(lambda x: ((0.1 - abs(x[0]), -abs(x[0])), [-np.sign(x[0])]), [3.0])
    assert result.status == "oracle-accuracy"


def test_further_cuts_help() -> None:
    def both(index: int, x: Vector) -> list[Cut]:
        value, indices, entries, side = distance(index, x)
        return [(value, indices, entries, side), (-value, indices, -entries, -side)]

    start = np.full(5, 9.0)
    result = bundlenet.minimize(Sum([partial(both, index) for index in range(5)]), start, method="bundle")
    alone = bundlenet.minimize(distances(), start, method="bundle")
    assert result.success and result.nfev <= alone.nfev
    assert result.primal is not None and sum(weight for _, weight, _ in result.primal) == pytest.approx(5.0)


def test_laggards_are_evaluated_alone() -> None:
    problem = bundlenet.GeneralizedAssignment.generate("ga-10-100", 1)
    own = assignment(problem)
    result = bundlenet.minimize(own, method="bundle", options={"evaluate": "laggards"}, bounds=(0, None))
    assert result.success and result.component_calls < problem.bins * result.nfev


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (1.0, r"component 1: .*expected a tuple \(value, indices, entries\)"),
        ((1.0, [0]), "component 1: .*found a tuple of length 2"),
        (("a", [0], [1.0]), r"component 1: .*value: expected a number, found"),
        ((1.0, [3], [1.0]), "component 1: .*indices: expected numbers from 0 to 2, found 3"),
        ((1.0, np.array([-1]), np.array([1.0])), "component 1: .*indices: expected numbers from 0 to 2, found -1"),
        ((1.0, [0.5], [1.0]), "component 1: .*indices: expected entry 0 to be a whole number, found 0.5"),
        ((1.0, [0], [1.0, 2.0]), "component 1: .*entries: expected as many as indices, 1, found 2"),
        ((1.0, [0], [math.nan]), "component 1: .*entries: expected finite numbers, found NaN"),
        ((1.0, [0], ["a"]), "component 1: .*entries: expected real numbers"),
        ((1.0, [0], [1.0], "a solution"), "component 1: .*expected no solution"),
        ([], "component 1: .*expected at least one cut"),
        ([(1.0, [0], [1.0]), (1.0, [9], [1.0])], "component 1, cut 1: .*found 9"),
        (((2.0, 1.0), [0], [1.0]), "component 1"),
    ],
)
def test_wrong_answers_are_named(answer: Any, message: str) -> None:
    own = Sum([lambda x: (0.0, [], []), lambda x: answer, lambda x: (0.0, [], [])])
    with pytest.raises(bundlenet.OracleError, match=message):
        bundlenet.minimize(own, np.zeros(3))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="components: expected at least 1, found 0"):
        Sum([])
    with pytest.raises(TypeError, match="component 1: expected a function"):
        Sum([lambda x: x, 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="fingerprints: expected 5, found 1"):
        distances(fingerprints=["a"])
    with pytest.raises(ValueError, match="multiplicities: expected 5 numbers, found 2"):
        bundlenet.minimize(distances(multiplicities=[1, 2]), np.zeros(5))
    with pytest.raises(ValueError, match="linear: expected 3 numbers, found 5"):
        bundlenet.minimize(distances(linear=np.zeros(5)), np.zeros(3))
    with pytest.raises(TypeError, match="x0: expected real numbers, because there is no state"):
        bundlenet.minimize(distances())
    with pytest.raises(TypeError, match="executor: expected a Sum"):
        bundlenet.minimize(lambda x: (0.0, x), [1.0], executor=ThreadPoolExecutor(1))


def test_a_component_that_raises_is_the_cause() -> None:
    def broken(x: Vector) -> Cut:
        if x[1] < 5.0:
            raise KeyError("lost")
        return distance(1, x)

    own = Sum([partial(distance, 0), broken])
    with pytest.raises(bundlenet.OracleError, match="component 1: KeyError: 'lost'") as caught:
        bundlenet.minimize(own, np.full(2, 9.0))
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.result is not None


def sleeping(x: Vector) -> Cut:
    time.sleep(0.02)
    return float(x[0]) ** 2, np.array([0]), 2.0 * x


def test_threads_share_the_components() -> None:
    # Four components pass together, or the barrier breaks.
    barrier = threading.Barrier(4, timeout=60)

    def meeting(x: Vector) -> Cut:
        barrier.wait()
        return float(x[0]) ** 2, np.array([0]), 2.0 * x

    with ThreadPoolExecutor(4) as executor:
        result = bundlenet.minimize(Sum([meeting] * 16), [1.0], executor=executor, steps=3)
    assert result.nfev > 1


def test_processes_share_the_components() -> None:
    with ProcessPoolExecutor(2) as executor:
        result = bundlenet.minimize(distances(), np.full(5, 9.0), executor=executor)
    alone = bundlenet.minimize(distances(), np.full(5, 9.0))
    assert result.fun == alone.fun and result.nfev == alone.nfev and result.primal == alone.primal


def test_the_rest_is_cancelled_after_an_error() -> None:
    class Recorder(ThreadPoolExecutor):
        futures: list[Future[Any]] = []

        def submit(self, *arguments: Any, **keywords: Any) -> Future[Any]:
            self.futures.append(super().submit(*arguments, **keywords))
            return self.futures[-1]

    def interrupted(x: Vector) -> Cut:
        raise KeyboardInterrupt

    for error, component in ((bundlenet.OracleError, lambda x: None), (KeyboardInterrupt, interrupted)):
        with Recorder(1) as executor:
            Recorder.futures = []
            with pytest.raises(error):
                bundlenet.minimize(Sum([component, *[sleeping] * 8]), [1.0], executor=executor)
        assert sum(future.cancelled() for future in executor.futures) >= 6
