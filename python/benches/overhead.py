"""The cost of an evaluation through `minimize` beyond the bare Python call, at the same points.

    python python/benches/overhead.py

Times are in microseconds for each evaluation: medians of rounds in which both take turns. `crossing` is the way into
Python and back, which must stay below 20. `step` is all work of `minimize` beside the call, with that of the method.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from numpy.typing import NDArray

import bundlenet

Vector = NDArray[np.float64]
ROUNDS = 15
#: Largest cost of the way into Python and back, in microseconds.
MOST = 20.0


def main() -> None:
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
    print(f"at most {worst:.2f} over the bare call: {'within' if worst <= MOST else 'ABOVE'} {MOST:.0f}")


if __name__ == "__main__":
    main()
