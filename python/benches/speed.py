"""The time of built-in problems in the package and in the program. Both solve the same file many times, in turns.

    cargo build --release && python python/benches/speed.py target/release/bundlenet

Times are in milliseconds: the least of all runs, because other work on the machine only adds. `ratio` is the package
over the program. `call` is the time of the call beside the run: settings, the tables of the dual, arrays of the result.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bundlenet

ROUNDS = 15
RUNS = 10
CASES: list[tuple[str, str, int, str]] = [
    ("mc-sml-40", "bundle", 300, "aggregated"),
    ("mc-sml-40", "bundle", 100, "component"),
    ("mc-big-40", "bundle", 100, "component"),
    ("ga-20-400", "bundle", 300, "aggregated"),
    ("ga-20-400", "adam", 300, "aggregated"),
    ("mc-big-40", "descent", 300, "aggregated"),
]


def main() -> None:
    program = sys.argv[1] if len(sys.argv) > 1 else "bundlenet"
    print(f"{'family':<10} {'method':<8} {'cuts':<11} {'program':>8} {'package':>8} {'ratio':>6} {'call':>6}")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for family, method, steps, cuts in CASES:
            path = Path(folder) / f"{family}.json"
            bundlenet.Problem.generate(family, 1).write(path)
            theirs, ours, around = [], [], []
            # Only the bundle method has this option.
            options = {"cuts": cuts} if method == "bundle" else {}
            flags = ["--method", method, "--steps", str(steps), "--tolerance", "0"]
            flags += [flag for name, value in options.items() for flag in (f"--{name}", value)]
            for _ in range(ROUNDS):
                command = [program, "solve", *[str(path)] * RUNS, "--json", "--quiet", *flags]
                reports = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
                theirs += [report["seconds"] for report in reports]
                for report in reports:
                    # As the program does, from the file.
                    problem = bundlenet.Problem.read(path)
                    begin = time.perf_counter()
                    result = problem.solve(method=method, steps=steps, options=options, tolerance=0.0)
                    around.append(time.perf_counter() - begin - result.seconds)
                    ours.append(result.seconds)
                    assert result.fun == report["value"]
            one, two, call = (1e3 * min(column) for column in (theirs, ours, around))
            ratios.append(two / one)
            print(f"{family:<10} {method:<8} {cuts:<11} {one:>8.3f} {two:>8.3f} {two / one:>6.3f} {call:>6.3f}")
    print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.3f}")


if __name__ == "__main__":
    main()
