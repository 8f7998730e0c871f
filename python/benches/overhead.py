"""The cost of an evaluation through `minimize` beyond the bare Python call, at the same points.

    python python/benches/overhead.py

Times are in microseconds for each evaluation: medians of rounds in which both take turns. `crossing` is the way into
Python and back: at most 5 for a function, at most 20 for a sum of 50 components. `step` is all work of `minimize` beside
the call, with that of the method. The last line is a call of 16 components of 20 ms each on four threads.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

import bundlenet

Vector = NDArray[np.float64]
ROUNDS = 15
#: Largest cost of the way into Python and back, in microseconds: of a function, and of a sum of 50 components.
MOST, MOST_OF_SUM = 5.0, 20.0


def main() -> None:
    functions()
    sums()
    threads()


def verdict(worst: float, most: float) -> None:
    print(f"at most {worst:.2f} over the bare call: {'within' if worst <= most else 'ABOVE'} {most:.0f}")


def sums() -> None:
    """A sum of 50 components with sparse rows that are ready: the cost is that of the calls and of the conversion."""
    print(f"{'sum of 50':<8} {'nonzeros':>9} {'bare':>8} {'crossing':>9}")
    worst = 0.0
    for nonzeros in (1, 5, 20):
        random = np.random.default_rng(1)

        def component() -> Callable[[Vector], tuple[float, NDArray[np.int64], Vector]]:
            indices = np.sort(random.choice(100, nonzeros, replace=False))
            answers = [(1.0, indices, sign * random.uniform(size=nonzeros)) for sign in (1.0, -1.0)]
            return lambda x: answers[int(x[0] > 0.0)]

        components = [component() for _ in range(50)]
        total, point = bundlenet.Sum(components), np.ones(100)
        bare, inside = [], []
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            for _ in range(100):
                for function in components:
                    function(point)
            bare.append((time.perf_counter() - begin) / 100)
            result = bundlenet.minimize(total, point, method="bundle", steps=100, tolerance=0.0)
            inside.append(result.oracle_seconds / result.nfev)
        call, through = (1e6 * statistics.median(column) for column in (bare, inside))
        worst = max(worst, through - call)
        print(f"{'':<9} {nonzeros:>9} {call:>8.2f} {through - call:>9.2f}")
    verdict(worst, MOST_OF_SUM)


def threads() -> None:
    def component(x: Vector) -> tuple[float, list[int], Vector]:
        time.sleep(0.02)
        return float(x[0]) ** 2, [0], 2.0 * x

    with ThreadPoolExecutor(4) as executor:
        result = bundlenet.minimize(bundlenet.Sum([component] * 16), [1.0], executor=executor, steps=20, tolerance=0.0)
    print(f"16 components of 20 ms on 4 threads: {1e3 * result.oracle_seconds / result.nfev:.1f} ms, at most 84")


def functions() -> None:
    print(f"{'method':<8} {'n':>5} {'bare':>8} {'crossing':>9} {'ratio':>6} {'step':>8}")
    worst = 0.0
    for method in ("descent", "bundle"):
        for dimension in (10, 100, 1000):
            random = np.random.default_rng(1)
            slopes = random.normal(size=(20, dimension))
            slopes -= slopes.mean(axis=0)
            points: list[Vector] = []

            def function(x: Vector) -> tuple[float, Vector]:
                values = slopes @ x
                row = values.argmax()
                return values[row], slopes[row]

            def recording(x: Vector) -> tuple[float, Vector]:
                points.append(x)
                return function(x)

            start = random.normal(size=dimension)
            steps = 200
            bundlenet.minimize(recording, start, method=method, steps=steps, tolerance=0.0)
            bare, inside, whole = [], [], []
            for _ in range(ROUNDS):
                begin = time.perf_counter()
                for point in points:
                    function(point)
                bare.append((time.perf_counter() - begin) / len(points))
                begin = time.perf_counter()
                result = bundlenet.minimize(function, start, method=method, steps=steps, tolerance=0.0)
                whole.append((time.perf_counter() - begin) / result.nfev)
                inside.append(result.oracle_seconds / result.nfev)
            call, through, run = (1e6 * statistics.median(column) for column in (bare, inside, whole))
            worst = max(worst, through - call)
            crossing, ratio, step = through - call, through / call, run - call
            print(f"{method:<8} {dimension:>5} {call:>8.2f} {crossing:>9.2f} {ratio:>6.2f} {step:>8.2f}")
    verdict(worst, MOST)


if __name__ == "__main__":
    main()
