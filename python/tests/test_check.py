"""Mistakes of functions are found and named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bundlenet
from bundlenet import Sum, check

Vector = NDArray[np.float64]
POINTS = np.random.default_rng(1).normal(size=(12, 3))
CENTRES = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0], [0.0, 0.0, 4.0]])


def part(index: int, x: Vector) -> tuple[float, Any, Vector]:
    """`|x - c|^2` for some centre."""
    difference = x - CENTRES[index]
    return float(difference @ difference), np.arange(3), 2.0 * difference


def whole(x: Vector) -> tuple[float, Vector]:
    values, _, slopes = zip(*(part(index, x) for index in range(3)))
    return sum(values), np.sum(slopes, axis=0)


def test_a_right_function_is_right() -> None:
    assert check(whole, POINTS).ok
    own = Sum([lambda x: part(0, x), lambda x: part(1, x), lambda x: part(2, x)])
    report = check(own, POINTS, whole=whole)
    assert report and report.ok and report.violations == [] and report.nfev > 0
    assert check(bundlenet.GeneralizedAssignment.generate("ga-10-100", 1).dual(), np.ones((2, 100))).ok
    negative = check(lambda x: (-whole(x)[0], -whole(x)[1]), POINTS, sense="max")
    assert negative.ok, negative


def test_mistakes_are_named() -> None:
    sign = check(lambda x: (whole(x)[0], -whole(x)[1]), POINTS)
    assert not sign.ok and [violation.kind for violation in sign.violations] == ["wrong-sign"]
    assert len(sign.violations[0].points) == 2 and "wrong sign" in sign.violations[0].message
    sense = check(whole, POINTS, sense="max")
    assert [violation.kind for violation in sense.violations] == ["wrong-sense"]
    term = check(lambda x: (whole(x)[0] + 3.0 * x[0], whole(x)[1]), POINTS)
    assert [violation.kind for violation in term.violations] == ["missing-term"]
    assert "missing term" in repr(term)


def test_a_wrong_component_is_named() -> None:
    def wrong(x: Vector) -> tuple[float, Any, Vector]:
        value, indices, entries = part(1, x)
        return value, indices, -entries

    report = check(Sum([lambda x: part(0, x), wrong, lambda x: part(2, x)]), POINTS)
    assert any(violation.kind == "wrong-sign" and violation.component == 1 for violation in report.violations)
    missing = check(Sum([lambda x: part(0, x), lambda x: part(1, x)], multiplicities=[1.0, 2.0]), POINTS, whole=whole)
    assert not missing.ok


def test_a_component_that_does_not_add_up_is_named() -> None:
    def without_the_last(x: Vector) -> tuple[float, Vector]:
        value, _, slope = part(2, x)
        return whole(x)[0] - value, whole(x)[1] - slope

    own = Sum([lambda x: part(0, x), lambda x: part(1, x), lambda x: part(2, x)])
    report = check(own, POINTS, whole=without_the_last)
    assert {(violation.kind, violation.component) for violation in report.violations} == {("component", 2)}


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="points: expected at least one point"):
        check(whole, [])
    with pytest.raises(ValueError, match='sense: expected "min" or "max"'):
        check(whole, POINTS, sense="up")  # type: ignore[arg-type]
    with pytest.raises(bundlenet.OracleError):
        check(lambda x: (np.nan, x), POINTS)
