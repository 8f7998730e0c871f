"""`minimize` and `maximize` with functions that behave."""

from __future__ import annotations

import copy
import pickle
import time
import weakref

import numpy as np
import pytest
from numpy.typing import NDArray

import bundlenet

Vector = NDArray[np.float64]
METHODS = ["auto", "hybrid", "bundle", "network", "descent", "adam"]


def distances(x: Vector) -> tuple[float, Vector]:
    """Sum of distances to 1, 2, 3, ..., with slopes 1, 2, 3, ..."""
    slopes = np.arange(1.0, x.size + 1)
    return float(slopes @ np.abs(x - slopes)), slopes * np.sign(x - slopes)


def concave(x: Vector) -> tuple[float, Vector]:
    value, subgradient = distances(x)
    return -value, -subgradient


def test_the_optimum_is_found_and_described() -> None:
    result = bundlenet.minimize(distances, np.zeros(5))
    # A proof is the difference between the two words.
    assert result.success and result.status == ("converged" if result.certificate is None else "optimal")
    assert "tolerance" in result.message
    np.testing.assert_allclose(result.x, np.arange(1, 6), atol=1e-5)
    assert result.fun == distances(result.x)[0] < 1e-5
    # A stop without a proof is confirmed by one more evaluation.
    assert result.nfev == result.nit + 1 + (result.certificate is None)
    assert len(result.trace.step) == result.nit + 1
    assert result.estimate is not None and result.estimate <= 1e-7
    assert 0 < result.oracle_seconds < result.seconds


def test_a_result_is_a_mapping_with_attributes() -> None:
    result = bundlenet.minimize(distances, np.zeros(50), steps=3)
    assert result["fun"] == result.fun
    assert {"x", "fun", "status", "message", "nfev", "certificate", "trace"} <= set(result) & set(dir(result))
    result.note = "kept"
    assert result["note"] == "kept"
    del result.note
    with pytest.raises(AttributeError, match="note"):
        result.note
    with pytest.raises(AttributeError, match="note"):
        del result.note
    text = repr(result)
    assert "fun: " in text and "rows of step" in text and len(text.splitlines()) < 20
    for other in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert isinstance(other, bundlenet.Result) and other.fun == result.fun


def test_traces_are_arrays_and_never_rise() -> None:
    result = bundlenet.minimize(distances, np.zeros(5))
    assert all(isinstance(column, np.ndarray) for column in result.trace)
    assert result.trace.step.dtype == np.int64 and result.trace.best.dtype == np.float64
    np.testing.assert_array_equal(result.trace.step, np.arange(result.nit + 1))
    assert (np.diff(result.trace.best) <= 0).all() and result.trace.best[-1] == result.fun
    assert result.trace.value[0] == distances(np.zeros(5))[0]


def test_maximize_is_minimize_upside_down() -> None:
    low = bundlenet.minimize(distances, np.zeros(4), method="bundle")
    high = bundlenet.maximize(concave, np.zeros(4), method="bundle")
    assert high.fun == -low.fun and high.success and high.status == low.status
    np.testing.assert_array_equal(low.x, high.x)
    assert (np.diff(high.trace.best) >= 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_makes_progress(method: str) -> None:
    result = bundlenet.minimize(distances, np.zeros(5), method=method, steps=50)
    assert result.fun < 0.5 * distances(np.zeros(5))[0]


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match="setting method: expected auto, hybrid, bundle, .*, found newton"):
        bundlenet.minimize(distances, np.zeros(5), method="newton")


def test_limits_are_statuses() -> None:
    steps = bundlenet.minimize(distances, np.zeros(5), steps=3)
    assert (steps.status, steps.nit, steps.success) == ("step-limit", 3, False)
    none = bundlenet.minimize(distances, np.zeros(5), steps=0)
    assert (none.nfev, none.fun) == (1, distances(np.zeros(5))[0])

    def slow(x: Vector) -> tuple[float, Vector]:
        time.sleep(0.02)
        return distances(x)

    short = bundlenet.minimize(slow, np.zeros(50), time_limit=0.1, tolerance=0.0)
    assert short.status == "time-limit" and 0.1 <= short.seconds < 5
    target = bundlenet.minimize(distances, np.zeros(5), target=10.0)
    assert target.status == "bound-reached" and target.success and target.fun <= 10
    calls = bundlenet.minimize(distances, np.zeros(5), oracle_calls=4)
    assert (calls.status, calls.nfev) == ("oracle-call-limit", 4)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"time_limit": -1.0}, "setting limits.seconds: expected a positive finite number, found -1"),
        ({"tolerance": float("nan")}, "setting tolerance: expected a nonnegative finite number, found NaN"),
        ({"oracle_calls": 0}, "setting limits.oracle_calls: expected at least 1, found 0"),
        ({"target": float("nan")}, "setting limits.target: expected a finite number, found NaN"),
        (
            {"model": bundlenet.Model.general(), "method": "adam"},
            "setting model: expected method auto, hybrid or network, found method adam",
        ),
        ({"threads": 0}, "threads: expected at least 1"),
        ({"options": {"cuts": "aggregated"}}, "^setting cuts: expected method bundle, found method auto$"),
        ({"method": "hybrid", "options": {"eta0": 1}}, "setting eta0: expected method bundle, descent or adam"),
        ({"method": "bundle", "options": {"strategy": "none"}}, 'setting strategy: expected adaptive, .* or balancing, found "none"'),
        ({"method": "bundle", "options": {"proximal": 1}}, "options of bundle: cuts, .*, found proximal"),
        ({"method": "bundle", "options": {"eta0": float("inf")}}, "eta0: expected a finite number, found inf"),
        ({"method": "network", "options": {"model": "general"}}, "setting model: expected a loaded model"),
        ({"options": {"model": "general"}}, "setting model: expected a loaded model"),
        ({"options": [1]}, "options: "),
    ],
)
def test_settings_that_cannot_be_used_are_named(keywords: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bundlenet.minimize(distances, np.zeros(2), **keywords)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        bundlenet.solve_batch([], **keywords)  # type: ignore[arg-type]


def test_options_reach_the_library() -> None:
    adaptive = bundlenet.minimize(distances, np.zeros(5), method="bundle", steps=10)
    options = {"strategy": "soft", "eta0": 5, "max_cuts": np.int64(9)}
    soft = bundlenet.minimize(distances, np.zeros(5), method="bundle", steps=10, options=options)
    assert not np.array_equal(adaptive.trace.value, soft.trace.value)


BOUNDS: list[object] = [
    (2.5, None),
    [(2.5, None)] * 3,
    [[2.5, np.inf]] * 3,
    np.array([[2.5, np.inf]] * 3),
    type("Bounds", (), {"lb": 2.5, "ub": np.inf})(),
    type("Bounds", (), {"lb": np.full(3, 2.5), "ub": np.full(3, np.inf)})(),
    (np.full(3, 2.5), np.full(3, np.inf)),
    ([2.5, 2.5, 2.5], [None, 7, np.inf]),
    np.array([[2.5, 2.5, 2.5], [9, 9, 9]]),
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=range(len(BOUNDS)))
def test_lower_bounds_hold_at_every_point(bounds: object) -> None:
    seen: list[Vector] = []

    def watched(x: Vector) -> tuple[float, Vector]:
        seen.append(x)
        return distances(x)

    result = bundlenet.minimize(watched, [0, 0, 9], bounds=bounds)  # type: ignore[arg-type]
    assert result.status == "optimal"
    np.testing.assert_allclose(result.x, [2.5, 2.5, 3], atol=1e-5)
    assert min(x.min() for x in seen) >= 2.5
    np.testing.assert_array_equal(seen[0], [2.5, 2.5, 9])


def test_bounds_differ_by_coordinate() -> None:
    bounds = [(None, None), (0, None), (None, 2), (0.0, np.inf)]
    result = bundlenet.maximize(concave, [-1, -1, 5, -1], bounds=bounds)
    np.testing.assert_allclose(result.x, [1, 2, 2, 4], atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_boxes_hold_at_every_point(method: str) -> None:
    bounds = [(-1, 0.5), (3, 4), (2, 2), (None, 3.5), (0, 10)]
    seen: list[Vector] = []

    def watched(x: Vector) -> tuple[float, Vector]:
        seen.append(x)
        return distances(x)

    result = bundlenet.minimize(watched, np.zeros(5), method=method, bounds=bounds, steps=300)
    lower, upper = [-1, 3, 2, -np.inf, 0], [0.5, 4, 2, 3.5, 10]
    assert all((lower <= x).all() and (x <= upper).all() for x in seen)
    np.testing.assert_array_equal(seen[0], [0, 3, 2, 0, 0])
    np.testing.assert_allclose(result.x, [0.5, 3, 2, 3.5, 5], atol=0.5 if method in ("network", "adam") else 1e-3)


def test_bounded_boxes_have_proofs() -> None:
    rng = np.random.default_rng(3)
    lower = rng.normal(size=20)
    upper = lower + rng.exponential(size=20)
    result = bundlenet.minimize(distances, np.zeros(20), bounds=(lower, upper))
    assert result.status == "optimal"
    np.testing.assert_allclose(result.x, np.clip(np.arange(1, 21), lower, upper), atol=1e-6)
    assert result.certificate is not None and result.certificate <= 1e-7


def test_two_arrays_for_two_variables_are_pairs() -> None:
    result = bundlenet.minimize(distances, np.zeros(2), bounds=np.array([[0, 0.5], [1, 1.5]]))
    np.testing.assert_allclose(result.x, [0.5, 1.5], atol=1e-6)


def test_bounds_at_zero_are_those_of_the_library() -> None:
    at_zero = bundlenet.minimize(lambda x: distances(x + 2), np.ones(3), bounds=(0, None))
    np.testing.assert_allclose(at_zero.x, [0, 0, 1], atol=1e-6)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((1, 0), "between the limits of coordinate 0, found \\[1, 0\\]"),
        (([0, 0], [1, 1]), "found 2"),
        ((np.zeros(4), np.ones(4)), "found 4"),
        ([(0, None), (3, 2), (0, None)], "coordinate 1"),
        ([(0, None)] * 4, "found 4"),
        ([(0, None), 5, (0, None)], "coordinate 1, found 5"),
        ((float("nan"), None), "coordinate 0"),
        ([("a", "b")] * 3, "coordinate 0"),
    ],
)
def test_bounds_that_cannot_be_used_are_named(bounds: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bundlenet.minimize(distances, np.zeros(3), bounds=bounds)  # type: ignore[arg-type]


def test_a_network_goes_by_the_scales_of_the_variables() -> None:
    size = np.array([1.0, 1e3, 1e-3, 1.0] * 5)

    def steep(x: Vector) -> tuple[float, Vector]:
        return float(np.abs(size * x - 1).sum()), size * np.sign(size * x - 1)

    def values(method: str, scales: Vector | None) -> list[float]:
        run = bundlenet.minimize(steep, np.zeros(20), method=method, steps=20, scales=scales)
        return [float(value) for value in run.trace.value]

    network = values("network", size**-2)
    assert network == values("network", 8 * size**-2)
    assert min(network) < 0.5 * min(values("network", None))
    # Exact methods do not use them.
    assert values("bundle", size**-2) == values("bundle", None)


@pytest.mark.parametrize(
    ("scales", "message"),
    [
        ([1.0, 2.0], "scales .* expected 3 numbers, found 2"),
        ([1.0, 0.0, 1.0], "scale: expected entry 1 from .* found 0"),
        ("large", "scales: expected real numbers"),
    ],
)
def test_scales_that_cannot_be_used_are_named(scales: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        bundlenet.minimize(distances, np.zeros(3), scales=scales)  # type: ignore[arg-type]


def test_callbacks_see_every_step_and_may_end_the_run() -> None:
    seen: list[bundlenet.Progress] = []
    result = bundlenet.minimize(distances, np.zeros(5), callback=seen.append)
    assert [progress.step for progress in seen] == result.trace.step.tolist()
    assert [progress.best for progress in seen] == result.trace.best.tolist()
    # The last evaluation of a run without a proof confirms its end, and is no step.
    assert seen[-1].nfev == result.nfev - (result.certificate is None) and "step=0" in repr(seen[0])
    ended = bundlenet.minimize(distances, np.zeros(5), callback=lambda progress: progress.step == 2)
    assert (ended.status, ended.nit) == ("interrupted", 2)

    def stop(progress: bundlenet.Progress) -> None:
        raise StopIteration

    assert bundlenet.minimize(distances, np.zeros(5), callback=stop).nit == 0


def test_what_a_callback_raises_is_passed_on() -> None:
    def fail(progress: bundlenet.Progress) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        bundlenet.minimize(distances, np.zeros(5), callback=fail)


def test_points_are_the_function_s_to_keep_and_to_change() -> None:
    seen: list[Vector] = []

    def greedy(x: Vector) -> tuple[float, Vector]:
        answer = distances(x)
        seen.append(x.copy())
        x.fill(np.nan)
        return answer

    result = bundlenet.minimize(greedy, np.zeros(5), method="bundle")
    plain = bundlenet.minimize(distances, np.zeros(5), method="bundle")
    np.testing.assert_array_equal(result.x, plain.x)
    values = [distances(x)[0] for x in seen[: result.nit + 1]]
    np.testing.assert_array_equal(result.trace.value, values)


def test_nothing_is_kept_after_a_run() -> None:
    class Function:
        def __call__(self, x: Vector) -> tuple[float, Vector]:
            return distances(x)

    function = Function()
    reference = weakref.ref(function)
    result = bundlenet.minimize(function, np.zeros(5))
    del function
    assert reference() is None and result.success


def test_an_optimal_start_is_seen() -> None:
    result = bundlenet.minimize(distances, np.arange(1.0, 6.0))
    assert (result.status, result.nfev, result.certificate is not None) == ("optimal", 1, True)
