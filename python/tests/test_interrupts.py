"""Ctrl-C ends a run soon, with the best point."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import bundlenet

Vector = NDArray[np.float64]
#: No run comes so far.
ENDLESS = 10**12


def norm(x: Vector) -> tuple[float, Vector]:
    return float(np.abs(x).sum()), np.sign(x)


@pytest.fixture
def soon() -> Iterator[None]:
    """Presses Ctrl-C in a moment."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    yield
    timer.join()


def check(result: bundlenet.Result) -> None:
    assert result.status == "interrupted" and not result.success
    assert 0.2 < result.seconds < 5
    assert np.isfinite(result.x).all() and result.fun == result.trace.best[-1]


@pytest.mark.usefixtures("soon")
def test_a_python_oracle_is_interrupted() -> None:
    def slow(x: Vector) -> tuple[float, Vector]:
        time.sleep(0.01)
        return norm(x)

    check(bundlenet.minimize(slow, np.ones(3), method="adam", steps=ENDLESS, tolerance=0.0))


@pytest.mark.usefixtures("soon")
def test_an_oracle_without_python_code_is_interrupted() -> None:
    dual = bundlenet.NetworkDesign.generate("mc-sml-40", 1).dual()
    check(bundlenet.maximize(dual, np.zeros(dual.dim), method="adam", steps=ENDLESS, tolerance=0.0))


@pytest.mark.usefixtures("soon")
def test_an_oracle_is_interrupted_in_its_first_call() -> None:
    def stuck(x: Vector) -> tuple[float, Vector]:
        time.sleep(60)
        return norm(x)

    with pytest.raises(KeyboardInterrupt):
        bundlenet.minimize(stuck, np.ones(3))


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("threads", [None, 1])
def test_a_built_in_problem_is_interrupted(threads: int | None) -> None:
    problem = bundlenet.NetworkDesign.generate("mc-sml-40", 1)
    check(problem.solve(method="adam", steps=ENDLESS, tolerance=0.0, threads=threads))


@pytest.mark.usefixtures("soon")
def test_a_batch_is_interrupted() -> None:
    problems = [bundlenet.NetworkDesign.generate("mc-sml-40", 1, index=index) for index in range(3)]
    results = bundlenet.solve_batch(problems, method="adam", steps=ENDLESS, tolerance=0.0, threads=3)
    assert len(results) == 3
    for result in results:
        check(result)


@pytest.mark.usefixtures("soon")
def test_a_training_is_interrupted_and_resumes(tmp_path: Path) -> None:
    config = {
        "data": {"train": ["generate:ga-10-100:8:1"]},
        "evolution": {"generations": 100_000, "pairs": 2, "batch": 2},
        "validation": {"steps": [5]},
    }
    with pytest.raises(KeyboardInterrupt):
        bundlenet.train(config, out=tmp_path)
    done: list[int] = []

    def stop(progress: bundlenet.TrainingProgress) -> bool:
        if progress.stage == "evolution":
            done.append(progress.done)
        return bool(done)

    bundlenet.train(out=tmp_path, resume=True, callback=stop)
    assert len(done) == 1 and done[0] > 1


def test_handlers_of_other_signals_run_and_may_raise() -> None:
    class Alarm(Exception):
        pass

    def ring(number: int, frame: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Alarm):
            bundlenet.NetworkDesign.generate("mc-sml-40", 1).solve(method="adam", steps=ENDLESS, tolerance=0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
