"""The result of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Trace(NamedTuple):
    """The steps of a run: arrays with an entry for the start and for each step."""

    #: Number of the step, 0 for the start.
    step: NDArray[np.int64]
    #: Value at the point of this step.
    value: NDArray[np.float64]
    #: Best value so far.
    best: NDArray[np.float64]
    #: Seconds since the start of the run.
    seconds: NDArray[np.float64]


class Result(dict[str, Any]):
    """The result of a run: a dictionary whose entries are also attributes, as in `scipy.optimize`."""

    #: Best point.
    x: NDArray[np.float64]
    #: Value at the best point.
    fun: float
    #: Whether the run reached the optimum (`"optimal"` or `"converged"`) or the target. `"oracle-accuracy"` is no
    #: success: the gap is larger than the tolerance, and more accurate values would reduce it.
    success: bool
    #: Why the run ended: `"optimal"`, `"converged"`, `"unbounded"`, `"step-limit"`, `"time-limit"`,
    #: `"oracle-call-limit"`, `"bound-reached"`, `"interrupted"`, `"oracle-failed"`, `"oracle-accuracy"` or `"stalled"`.
    status: str
    #: The status in a sentence.
    message: str
    #: Number of steps.
    nit: int
    #: Number of evaluations.
    nfev: int
    #: Number of components that were evaluated: 1 for each evaluation of a function that is not a sum.
    component_calls: int
    #: Estimated gap over `max(1, |fun|)`. The stop test compares it with the tolerance.
    estimate: float | None
    #: Proved gap over `max(1, |fun|)`. `None` if the run proves nothing.
    certificate: float | None
    #: Direction of length 1 along which the function is unbounded. `None` unless the status is `"unbounded"`.
    ray: NDArray[np.float64] | None
    #: The primal solution: rows `(component, weight, solution)`. The weights of a component add up to its multiplicity.
    #: `None` if the components return no solutions.
    primal: list[tuple[int, float, Any]] | None
    #: Number of cuts of the state that were `"kept"`, `"repriced"` and `"dropped"`. `None` if there were none.
    reuse: dict[str, int] | None
    #: Prices of energy, one for each period. Results of unit commitment alone have them.
    energy_prices: NDArray[np.float64]
    #: Prices of reserve, one for each period, or none. Results of unit commitment alone have them.
    reserve_prices: NDArray[np.float64]
    #: Bound of the linear relaxation. Results of `Blocks` alone have this and the next four.
    lp_bound: float | None
    #: Multipliers by the names of the relaxed rows.
    multipliers: dict[str, float]
    #: Values of columns that are not 0 in the convex combination, by name.
    columns: dict[str, float] | None
    #: The best first-stage solution that was found, by column name; of stochastic programs.
    first_stage: dict[str, float] | None
    #: Its expected value.
    feasible_value: float | None
    #: Wall time of the run in seconds.
    seconds: float
    #: Wall time of the evaluations in seconds.
    oracle_seconds: float
    #: The steps of the run.
    trace: Trace

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        # Imported here, because the program of the package starts faster without numpy.
        import numpy as np

        width = max(map(len, self), default=0)
        lines = []
        with np.printoptions(threshold=10, edgeitems=3):
            for name, value in self.items():
                if isinstance(value, Trace):
                    text = f"{len(value.step)} rows of {', '.join(value._fields)}"
                elif name == "primal" and value is not None:
                    text = f"{len(value)} rows of component, weight, solution"
                else:
                    text = repr(value)
                indented = text.replace("\n", "\n" + " " * (width + 2))
                lines.append(f"{name:>{width}}: {indented}")
        return "\n".join(lines)


class OracleError(RuntimeError):
    """The oracle failed or returned unusable values. `__cause__` is the exception that it raised."""

    #: The best result so far. `None` if the first evaluation failed.
    result: Result | None

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result
