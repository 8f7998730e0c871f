"""Plots of runs with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

try:
    import matplotlib.pyplot as pyplot
except ImportError:
    raise ImportError("bundlenet.plot needs matplotlib: pip install 'bundlenet[plot]'") from None

from ._result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def convergence(
    results: Result | Mapping[str, Result],
    *,
    optimum: float | None = None,
    over: Literal["step", "seconds"] = "step",
    axes: Axes | None = None,
) -> Axes:
    """Draws the best value of one run, or of several runs by name, over steps or seconds.

    With `optimum`, it draws the relative gap `|best - optimum| / max(1, |optimum|)` on a logarithmic scale.
    """
    runs: Mapping[str, Result] = {"": results} if isinstance(results, Result) else results
    if axes is None:
        axes = pyplot.figure().add_subplot()
    for name, result in runs.items():
        heights = result.trace.best
        if optimum is not None:
            # A gap of 0 has no logarithm.
            heights = np.maximum(np.abs(heights - optimum) / max(1.0, abs(optimum)), 1e-16)
        axes.plot(getattr(result.trace, over), heights, drawstyle="steps-post", label=name)
    axes.set_xlabel(over)
    axes.set_ylabel("best value" if optimum is None else "relative gap")
    if optimum is not None:
        axes.set_yscale("log")
    if any(runs):
        axes.legend()
    return axes
