"""Tries an installed package: a function, a built-in problem, and the program. Needs no Rust and no compiler."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import bundlenet


def function(x):  # type: ignore[no-untyped-def]
    return abs(x[0] - 3), [1.0 if x[0] >= 3 else -1.0]


result = bundlenet.minimize(function, [0.0])
assert result.success and result.fun < 1e-6, result

bound = bundlenet.NetworkDesign.generate("mc-sml-40", seed=7).solve()
assert bound.status == "optimal" and bound.certificate <= 1e-7, bound

with tempfile.TemporaryDirectory() as folder:
    program = [sys.executable, "-m", "bundlenet"]
    generate = ["generate", "mc-sml-40", "--count", "1", "--seed", "1", "--out", folder]
    subprocess.run([*program, *generate], check=True, timeout=60)
    solve = ["solve", str(Path(folder) / "s1-1.json"), "--quiet"]
    subprocess.run([*program, *solve], check=True, timeout=60)
