"""Warm starts: states of sums, of plain functions and of built-in problems."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bundlenet
from bundlenet import State, Sum

Vector = NDArray[np.float64]
START = np.full(5, 9.0)


class Side:
    """A solution: the sign of `c (x_i - i)`, which stays the same if `c` changes."""

    def __init__(self, sign: float) -> None:
        self.sign = sign


class Data:
    """A fingerprint with its own `==`, and a hash that differs between processes."""

    def __init__(self, number: float) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Data) and self.number == other.number

    def __hash__(self) -> int:
        return id(self)


def line(factors: Vector, index: int, solution: Side) -> tuple[float, list[int], list[float]]:
    slope = float(factors[index] * solution.sign)
    return -slope * index, [index], [slope]


def component(factors: Vector, index: int, x: Vector) -> tuple[float, list[int], list[float], Side]:
    """`c_i |x_i - i|`"""
    solution = Side(1.0 if x[index] > index else -1.0)
    constant, indices, entries = line(factors, index, solution)
    return constant + entries[0] * x[index], indices, entries, solution


def distances(factors: Vector, *, is_repriced: bool = True, **keywords: Any) -> Sum:
    return Sum(
        [partial(component, factors, index) for index in range(len(factors))],
        fingerprints=[Data(factor) for factor in factors],
        reprice=partial(line, factors) if is_repriced else None,
        **keywords,
    )


def test_cuts_are_kept_repriced_or_dropped() -> None:
    factors, changed = np.ones(5), np.array([1.0, 1.0, 1.0, 2.0, 3.0])
    state = State()
    assert state.x is None and state.value is None and state.cuts == 0
    first = bundlenet.minimize(distances(factors), START, state=state)
    assert first.reuse is None and state.cuts >= 10 and state.value == first.fun
    np.testing.assert_array_equal(state.x, first.x)
    same = bundlenet.minimize(distances(factors), START, state=state.copy())
    assert same.reuse == {"kept": state.cuts, "repriced": 0, "dropped": 0} and same.nfev < first.nfev
    new = bundlenet.minimize(distances(changed), START, state=state.copy())
    assert new.success and new.reuse is not None
    assert new.reuse["repriced"] >= 4 and new.reuse["kept"] >= 6 and new.reuse["dropped"] == 0
    lost = bundlenet.minimize(distances(changed, is_repriced=False), START, state=state)
    assert lost.success and lost.reuse is not None and lost.reuse["dropped"] >= 4
    assert lost.fun == pytest.approx(0.0, abs=1e-6) and lost.primal is not None


def test_a_solution_that_is_no_longer_feasible_is_dropped() -> None:
    state = State()
    bundlenet.minimize(distances(np.ones(5)), START, state=state)
    own = distances(np.full(5, 2.0))
    own.reprice = lambda index, solution: None if index == 0 else line(np.full(5, 2.0), index, solution)
    result = bundlenet.minimize(own, START, state=state)
    assert result.reuse is not None and result.reuse["dropped"] >= 2 and result.reuse["repriced"] >= 8


def test_multiplicities_may_change() -> None:
    state = State()
    bundlenet.minimize(distances(np.ones(5)), START, state=state)
    result = bundlenet.minimize(distances(np.ones(5), multiplicities=[1, 1, 1, 1, 7]), START, state=state)
    assert result.success and result.reuse is not None and result.reuse["dropped"] == 0
    assert result.primal is not None
    assert sum(weight for index, weight, _ in result.primal if index == 4) == pytest.approx(7.0)


def test_states_are_copied_and_pickled() -> None:
    state = State()
    first = bundlenet.minimize(distances(np.ones(5)), START, state=state)
    for other in (copy.copy(state), copy.deepcopy(state), state.copy(), pickle.loads(pickle.dumps(state))):
        assert repr(other) == repr(state)
        np.testing.assert_array_equal(other.x, state.x)
        result = bundlenet.minimize(distances(np.full(5, 2.0)), state=other)
        assert result.success and result.reuse == {"kept": 0, "repriced": state.cuts, "dropped": 0}
    assert state.value == first.fun
    assert repr(pickle.loads(pickle.dumps(State()))) == repr(State())


def test_solutions_that_no_cut_needs_are_forgotten() -> None:
    alive: list[weakref.ref[Side]] = []

    def recording(index: int, x: Vector) -> tuple[float, list[int], list[float], Side]:
        answer = component(np.ones(5), index, x)
        alive.append(weakref.ref(answer[3]))
        return answer

    state = State()
    own = Sum([partial(recording, index) for index in range(5)])
    result = bundlenet.minimize(own, START, state=state)
    del result
    gc.collect()
    kept = sum(reference() is not None for reference in alive)
    assert 0 < kept <= 2 * state.cuts
    del state
    gc.collect()
    assert all(reference() is None for reference in alive)


def test_a_state_in_use_cannot_be_used() -> None:
    state = State()

    def nested(x: Vector) -> tuple[float, Vector]:
        bundlenet.minimize(lambda y: (float(abs(y).sum()), np.sign(y)), x, state=state)
        return float(abs(x).sum()), np.sign(x)

    with pytest.raises(bundlenet.OracleError, match="state: expected a state that no run uses"):
        bundlenet.minimize(nested, START, state=state)
    assert state.cuts == 0


def test_a_failed_start_leaves_the_state() -> None:
    state = State()
    bundlenet.minimize(distances(np.ones(5)), START, state=state)
    before = repr(state)
    with pytest.raises(bundlenet.OracleError):
        bundlenet.minimize(Sum([lambda x: None] * 5, fingerprints=range(5)), START, state=state)
    with pytest.raises(ValueError, match="state: expected 3 variables, found 5"):
        bundlenet.minimize(distances(np.ones(3)), np.zeros(3), state=state)
    assert repr(state) == before
    result = bundlenet.minimize(distances(np.ones(5)), START, state=state)
    assert result.reuse is not None and result.reuse["dropped"] == 0


def test_an_error_of_reprice_is_raised() -> None:
    state = State()
    bundlenet.minimize(distances(np.ones(5)), START, state=state)
    own = distances(np.full(5, 2.0))
    own.reprice = lambda index, solution: 1 / 0  # type: ignore[assignment,return-value]
    with pytest.raises(bundlenet.OracleError) as caught:
        bundlenet.minimize(own, START + 1.0, state=state)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_plain_functions_and_built_in_problems() -> None:
    state = State()
    random = np.random.default_rng(1)
    slopes = random.normal(size=(30, 10))
    slopes -= slopes.mean(axis=0)

    def fun(x: Vector) -> tuple[float, Vector]:
        values = slopes @ x + np.arange(30)
        return float(values.max()), slopes[values.argmax()]

    first = bundlenet.minimize(fun, np.ones(10), state=state)
    state.trust_cuts()
    again = bundlenet.minimize(fun, np.ones(10), state=state)
    assert again.nfev < first.nfev and again.reuse is not None and again.reuse["kept"] > 0
    problem = bundlenet.GeneralizedAssignment.generate("ga-10-100", 1)
    state = State()
    first = problem.solve(method="bundle", state=state)
    again = problem.solve(method="bundle", state=pickle.loads(pickle.dumps(state)))
    assert again.fun == pytest.approx(first.fun) and again.nfev < first.nfev
