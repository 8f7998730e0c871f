"""Oracles and arguments that are wrong in every way we could think of; none may crash the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bundlenet

Vector = NDArray[np.float64]


def norm(x: Vector) -> tuple[float, Vector]:
    return float(np.abs(x).sum()), np.sign(x)


def after(calls: int, answer: Callable[[Vector], Any]) -> Callable[[Vector], Any]:
    """Behaves for some calls, then answers otherwise."""
    count = 0

    def function(x: Vector) -> Any:
        nonlocal count
        count += 1
        return norm(x) if count <= calls else answer(x)

    return function


def fail(x: Vector) -> Any:
    raise ZeroDivisionError("my own")


WRONG: list[tuple[Callable[[Vector], Any], str]] = [
    (lambda x: (1.0, x[:-1]), r"subgradient: expected an array of shape \(3,\), found \(2,\)"),
    (lambda x: (1.0, np.append(x, 1.0)), r"expected an array of shape \(3,\), found \(4,\)"),
    (lambda x: (1.0, np.zeros((3, 1))), r"one dimension, found shape \(3, 1\)"),
    (lambda x: (1.0, 2.0), r"one dimension, found shape \(\)"),
    (lambda x: (1.0, None), "real numbers, found an array of type object"),
    (lambda x: (1.0, x + 1j), "real numbers, found an array of type complex128"),
    (lambda x: (1.0, ["a", "b", "c"]), "real numbers, found an array of type"),
    (lambda x: (1.0, [[1.0], [1.0, 2.0], 3.0]), "inhomogeneous"),
    (lambda x: ("1.0", x), "value: expected a number, found <class 'str'>"),
    (lambda x: (None, x), "value: expected a number"),
    (lambda x: (1j, x), "value: expected a number"),
    (lambda x: 1.0, r"expected a tuple \(value, subgradient\), found <class 'float'>"),
    (lambda x: None, r"expected a tuple \(value, subgradient\)"),
    (lambda x: (1.0, x, x), r"expected a tuple \(value, subgradient\)"),
    (lambda x: (np.nan, x), "expected a finite number, found NaN"),
    (lambda x: (np.inf, x), "expected a finite number, found inf"),
    (lambda x: (1.0, [1.0, np.nan, 1.0]), "expected a finite entry 1, found NaN"),
    (lambda x: (1.0, [1.0, 1.0, -np.inf]), "expected a finite entry 2, found -inf"),
    (lambda: (1.0, 1.0), "takes 0 positional arguments"),  # type: ignore[misc, list-item]
    (fail, "ZeroDivisionError: my own"),
]


@pytest.mark.parametrize(("answer", "message"), WRONG, ids=range(len(WRONG)))
def test_wrong_answers_are_named_with_their_evaluation(answer: Callable[[Vector], Any], message: str) -> None:
    with pytest.raises(bundlenet.OracleError, match=f"evaluation 1: .*{message}") as first:
        bundlenet.minimize(answer, np.ones(3))
    assert first.value.result is None
    with pytest.raises(bundlenet.OracleError, match=f"evaluation 3: .*{message}") as third:
        bundlenet.maximize(after(2, lambda x: answer(x)), np.ones(3), tolerance=0.0, method="adam")
    assert third.value.result is not None
    assert third.value.result.nfev == 3 and third.value.result.status == "oracle-failed"


def test_what_an_oracle_raised_is_the_cause() -> None:
    with pytest.raises(bundlenet.OracleError) as caught:
        bundlenet.minimize(fail, np.ones(3))
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError) and cause.__traceback__ is not None


def test_exits_are_passed_on() -> None:
    def leave(x: Vector) -> Any:
        raise SystemExit(3)

    for calls in (0, 2):
        with pytest.raises(SystemExit):
            bundlenet.minimize(after(calls, leave), np.ones(3), method="adam", tolerance=0.0)


class Own(np.ndarray[Any, Any]):
    """An array of one's own class."""


GOOD: list[Callable[[Vector], Any]] = [
    lambda x: x.tolist(),
    lambda x: x.astype(np.float32).astype(object).tolist(),
    lambda x: np.repeat(x, 2)[::2],
    lambda x: x[::-1].copy()[::-1],
    lambda x: np.asfortranarray(np.tile(x, (2, 1)))[0],
    lambda x: x.astype(">f8"),
    lambda x: np.frombuffer(x.tobytes()),
    lambda x: x.data,
    lambda x: np.frombuffer(b"-" + x.tobytes(), offset=1),
    lambda x: x.view(Own),
]


@pytest.mark.parametrize("form", GOOD, ids=range(len(GOOD)))
def test_every_form_of_an_array_will_do(form: Callable[[Vector], Any]) -> None:
    def square(x: Vector) -> tuple[float, Any]:
        return float(x @ x), form(2 * x)

    plain = bundlenet.minimize(lambda x: (float(x @ x), 2 * x), [3.0, -1.0, 2.0], method="bundle", steps=5)
    result = bundlenet.minimize(square, [3.0, -1.0, 2.0], method="bundle", steps=5)
    assert result.fun == pytest.approx(plain.fun, abs=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, np.bool_, np.float16])
def test_every_type_of_real_numbers_will_do(dtype: type) -> None:
    result = bundlenet.minimize(lambda x: (np.int64(1), np.ones(3, dtype)), np.ones(3, dtype), steps=1)
    assert result.x.dtype == np.float64 and result.fun == 1.0


def test_values_may_be_arrays_of_one_number() -> None:
    assert bundlenet.minimize(lambda x: (np.array(2.0), np.zeros(3)), np.ones(3)).fun == 2.0


@pytest.mark.parametrize(
    ("start", "error", "message"),
    [
        (np.zeros((2, 2)), ValueError, r"x0: expected an array of one dimension, found shape \(2, 2\)"),
        (3.0, ValueError, r"found shape \(\)"),
        ([], ValueError, "no variables"),
        ([1.0, np.nan], ValueError, "expected a finite entry 1, found NaN"),
        ([1j], TypeError, "x0: expected real numbers"),
        ("abc", TypeError, "x0: expected real numbers"),
        (None, TypeError, "x0: expected real numbers"),
    ],
)
def test_wrong_starts_are_named(start: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        bundlenet.minimize(norm, start)


def test_starts_that_are_not_contiguous_will_do() -> None:
    start = np.arange(12.0).reshape(3, 4)[:, 1]
    result = bundlenet.minimize(norm, start, steps=0)
    np.testing.assert_array_equal(result.x, start)
    assert result.x is not start


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match="fun: expected a function, found <class 'int'>"):
        bundlenet.minimize(3, np.ones(3))  # type: ignore[arg-type]


def test_an_oracle_may_call_minimize() -> None:
    def inner(y: float) -> bundlenet.Result:
        return bundlenet.minimize(lambda x: (abs(x[0] - y) + abs(x[0]), [np.sign(x[0] - y) + np.sign(x[0])]), [1.0])

    def outer(x: Vector) -> tuple[float, Vector]:
        # min over z of |z - x| + |z| is |x|.
        return inner(float(x[0])).fun, np.sign(x)

    result = bundlenet.minimize(outer, [5.0], steps=30)
    assert result.fun < 1e-4


def test_endless_recursion_ends() -> None:
    depth = 0

    def again(x: Vector) -> tuple[float, Vector]:
        nonlocal depth
        depth += 1
        return bundlenet.minimize(again, x).fun, x

    with pytest.raises(bundlenet.OracleError, match="RecursionError: expected at most 50 runs") as caught:
        bundlenet.minimize(again, [1.0])
    error: BaseException | None = caught.value
    while error is not None and not isinstance(error, RecursionError):
        error = error.__cause__
    assert depth == 50 and error is not None
    # And the count goes back.
    assert bundlenet.minimize(norm, [1.0]).success


def test_an_unbounded_function_ends() -> None:
    result = bundlenet.minimize(lambda x: (float(x.sum()), np.ones(2)), np.zeros(2), steps=50)
    assert result.status != "optimal" and result.nfev <= 51
