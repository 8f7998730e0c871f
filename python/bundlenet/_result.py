"""What a run comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Trace(NamedTuple):
    """A run step by step, one row for the start and each step."""

    #: Step, 0 for the start.
    step: NDArray[np.int64]
    #: Value at the point of this step.
    value: NDArray[np.float64]
    #: Best value so far.
    best: NDArray[np.float64]
    #: Seconds since the start of the run.
    seconds: NDArray[np.float64]


class Result(dict[str, Any]):
    """How a run ended: a dictionary whose entries are attributes, too, as in `scipy.optimize`."""

    #: Best point.
    x: NDArray[np.float64]
    #: Its value.
    fun: float
    #: Whether the optimum, or the target, was reached.
    success: bool
    #: Why the run ended: `"optimal"`, `"step-limit"`, `"time-limit"`, `"oracle-call-limit"`, `"bound-reached"`,
    #: `"interrupted"`, `"oracle-failed"` or `"stalled"`.
    status: str
    #: The same in words.
    message: str
    #: Steps.
    nit: int
    #: Evaluations.
    nfev: int
    #: The stop test's gap over `max(1, |fun|)`: an estimate.
    estimate: float | None
    #: A proved gap over `max(1, |fun|)`, where there is a proof.
    certificate: float | None
    #: Seconds of the whole run.
    seconds: float
    #: Of which in evaluations.
    oracle_seconds: float
    #: The run step by step.
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
        # Not at the top: the program, which the package installs, does without it.
        import numpy as np

        width = max(map(len, self), default=0)
        lines = []
        with np.printoptions(threshold=10, edgeitems=3):
            for name, value in self.items():
                is_trace = isinstance(value, Trace)
                text = f"{len(value.step)} rows of {', '.join(value._fields)}" if is_trace else repr(value)
                indented = text.replace("\n", "\n" + " " * (width + 2))
                lines.append(f"{name:>{width}}: {indented}")
        return "\n".join(lines)


class OracleError(RuntimeError):
    """An oracle that failed, or returned what cannot be used; what it raised is the `__cause__`."""

    #: The best so far, unless the very first evaluation failed.
    result: Result | None

    def __init__(self, message: str, result: Result | None = None) -> None:
        super().__init__(message)
        self.result = result
