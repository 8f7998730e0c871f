"""Sums of functions, given by component."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: A line `(value at 0, indices, entries)`.
Line = tuple[float, "ArrayLike", "ArrayLike"]


class Sum:
    """A sum `linear'x + sum_i multiplicities[i] f_i(x)`, in the place of `fun` in `minimize` and `maximize`.

    A component is a function `f(x)` that returns `(value, indices, entries)` or `(value, indices, entries, solution)`:
    the value at `x` and the nonzero entries of a subgradient. `x` is read-only, and all components get the same array.

    - `value` may be a pair `(cut, bound)`, if the value is known as an interval only.
    - Several cuts are a list of such tuples. The first one has the value, the others are further cuts at `x`.
    - `solution` is any object, such as the solution of a subproblem. `result.primal` then has weights for them.
    - A component with a parameter `accuracy` gets the width that its interval should have at most, `inf` if any
      will do.

    `multiplicities` are positive numbers, 1 by default. `fingerprints` has an object for each component that is equal
    (`==`) to that of an earlier run with the same `state` if the component is the same function. `None` stands for a
    component that may have changed. `reprice(i, solution)` returns the line `(value at 0, indices, entries)` that an
    earlier solution of component `i` gives with the present data, or `None` if it is no longer feasible.
    """

    def __init__(
        self,
        components: Iterable[Callable[..., Any]],
        linear: ArrayLike | None = None,
        multiplicities: ArrayLike | None = None,
        fingerprints: Iterable[object] | None = None,
        reprice: Callable[[int, Any], Line | None] | None = None,
    ) -> None:
        self.components: Sequence[Callable[..., Any]] = tuple(components)
        self.linear = linear
        self.multiplicities = multiplicities
        self.fingerprints: Sequence[object] | None = None if fingerprints is None else tuple(fingerprints)
        self.reprice = reprice
        if not self.components:
            raise ValueError("components: expected at least 1, found 0")
        for index, component in enumerate(self.components):
            if not callable(component):
                raise TypeError(f"component {index}: expected a function, found {type(component)}")
        if reprice is not None and not callable(reprice):
            raise TypeError(f"reprice: expected a function, found {type(reprice)}")
        expected = len(self.components)
        if self.fingerprints is not None and len(self.fingerprints) != expected:
            raise ValueError(f"fingerprints: expected {expected}, found {len(self.fingerprints)}")

    def __repr__(self) -> str:
        return f"Sum({len(self.components)} components)"


def takes_accuracy(function: Callable[..., Any]) -> bool:
    """Whether a function has a parameter `accuracy`."""
    try:
        parameter = inspect.signature(function).parameters.get("accuracy")
    except (TypeError, ValueError):  # builtins without a signature
        return False
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
