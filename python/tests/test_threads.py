"""Use from several threads."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import bundlenet

Vector = NDArray[np.float64]


def distances(x: Vector) -> tuple[float, Vector]:
    return float(np.abs(x - 1).sum()), np.sign(x - 1)


def test_python_oracles_run_on_many_threads() -> None:
    alone = bundlenet.minimize(distances, np.zeros(20), method="bundle")
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: bundlenet.minimize(distances, np.zeros(20), method="bundle"), range(40)))
    for result in results:
        np.testing.assert_array_equal(result.x, alone.x)


def test_one_problem_and_one_dual_serve_many_threads() -> None:
    problem = bundlenet.NetworkDesign.generate("mc-sml-40", 3)
    dual = problem.dual()
    alone, at_zero = problem.solve(method="network", steps=20), dual(np.zeros(dual.dim))[0]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: problem.solve(method="network", steps=20), range(16)))
        values = list(pool.map(lambda _: dual(np.zeros(dual.dim))[0], range(200)))
    assert {result.fun for result in results} == {alone.fun}
    assert set(values) == {at_zero}


@pytest.mark.parametrize("threads", [None, 1])
def test_other_threads_work_while_rust_does(threads: int | None) -> None:
    problem = bundlenet.NetworkDesign.generate("mc-big-40", 1)
    worker = threading.Thread(
        target=lambda: problem.solve(method="adam", steps=10**12, tolerance=0.0, time_limit=1.0, threads=threads)
    )
    worker.start()
    ticks = 0
    while worker.is_alive():
        time.sleep(0.01)
        ticks += 1
    # With the lock held there would be one.
    assert ticks > 20


def test_functions_are_called_on_the_calling_thread() -> None:
    seen = set()

    def watched(x: Vector) -> tuple[float, Vector]:
        seen.add(threading.get_ident())
        return distances(x)

    bundlenet.minimize(watched, np.zeros(3), threads=2)
    assert seen == {threading.get_ident()}


def test_batches_do_not_depend_on_threads() -> None:
    problems = [bundlenet.GeneralizedAssignment.generate("ga-10-100", 5, index=index) for index in range(6)]
    one, two = (bundlenet.solve_batch(problems, threads=threads) for threads in (1, 2))
    for first, second, problem in zip(one, two, problems, strict=True):
        assert first.fun == second.fun == problem.solve().fun
    assert bundlenet.solve_batch([]) == []


def test_a_child_that_was_forked_solves_batches(tmp_path: Path) -> None:
    code = (
        "import os, bundlenet\n"
        "problems = [bundlenet.GeneralizedAssignment.generate('ga-10-100', 5, index=index) for index in range(4)]\n"
        "bundlenet.solve_batch(problems)\n"
        "child = os.fork()\n"
        "bundlenet.solve_batch(problems)\n"
        "assert child == 0 or os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60, cwd=tmp_path)
