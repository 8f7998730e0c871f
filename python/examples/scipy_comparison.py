"""The same nonsmooth functions for scipy's methods, which are made for smooth ones, and for a bundle method."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

import bundlenet

Vector = NDArray[np.float64]
DIMENSION = 20
HILBERT = 1 / (1 + np.arange(DIMENSION)[:, None] + np.arange(DIMENSION)[None, :])


def hilbert(x: Vector) -> tuple[float, Vector]:
    """MXHILB: the largest |sum_j x_j / (i + j + 1)|; its minimum is 0."""
    products = HILBERT @ x
    row = int(np.abs(products).argmax())
    return float(abs(products[row])), np.sign(products[row]) * HILBERT[row]


def goffin(x: Vector) -> tuple[float, Vector]:
    """n max x - sum x; its minimum is 0."""
    subgradient = -np.ones(x.size)
    subgradient[x.argmax()] += x.size
    return float(x.size * x.max() - x.sum()), subgradient


def compare(name: str, function: Callable[[Vector], tuple[float, Vector]], start: Vector) -> dict[str, float]:
    found: dict[str, float] = {}
    print(f"{name}: {function(start)[0]:.4g} at the start, 0 at the minimum")
    for method in ["BFGS", "L-BFGS-B", "SLSQP", "CG"]:
        theirs = optimize.minimize(function, start, jac=True, method=method)
        found[method] = theirs.fun
        print(f"  scipy {method:<10} {theirs.fun:10.2e} after {theirs.nfev:5} evaluations")
    ours = bundlenet.minimize(function, start)
    found["bundlenet"] = ours.fun
    print(f"  bundlenet        {ours.fun:10.2e} after {ours.nfev:5} evaluations")
    return found


for name, function, start in [
    ("MXHILB", hilbert, np.ones(DIMENSION)),
    ("Goffin", goffin, np.linspace(-10, 10, DIMENSION, dtype=np.float64)),
]:
    found = compare(name, function, start)
    assert found["bundlenet"] < 1e-4
    assert found["bundlenet"] <= 1.01 * min(found.values()) + 1e-6
