import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, Protocol, SupportsFloat, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self, disjoint_base

from ._result import Result
from ._sum import Sum

__all__ = [
    "Blocks",
    "Check",
    "Dual",
    "FacilityLocation",
    "GeneralizedAssignment",
    "Model",
    "NetworkDesign",
    "Problem",
    "Progress",
    "State",
    "TrainingProgress",
    "UnitCommitment",
    "Violation",
    "__version__",
    "check",
    "maximize",
    "minimize",
    "run_program",
    "solve_batch",
    "train",
]

__version__: str

class _Bounds(Protocol):
    """The attributes of `scipy.optimize.Bounds`."""

    lb: Any
    ub: Any

class _Executor(Protocol):
    """The method of `concurrent.futures.Executor` that is used."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...

_Path: TypeAlias = str | os.PathLike[str]
_Pair: TypeAlias = tuple[float | None, float | None]
_Interval: TypeAlias = tuple[SupportsFloat, SupportsFloat]
# A function may also have a parameter `accuracy`.
_Fun: TypeAlias = Callable[..., tuple[SupportsFloat | _Interval, ArrayLike]]
_Sense: TypeAlias = Literal["min", "max"]

def minimize(
    fun: _Fun | Sum,
    x0: ArrayLike | None = None,
    *,
    method: str = "auto",
    options: Mapping[str, Any] | None = None,
    model: Model | None = None,
    bounds: _Pair | Sequence[_Pair] | tuple[ArrayLike, ArrayLike] | NDArray[Any] | _Bounds | None = None,
    steps: int | None = None,
    oracle_calls: int | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    tolerance: float = 1e-7,
    callback: Callable[[Progress], object] | None = None,
    threads: int | None = None,
    state: State | None = None,
    executor: _Executor | None = None,
    scales: ArrayLike | None = None,
) -> Result: ...
def maximize(
    fun: _Fun | Sum,
    x0: ArrayLike | None = None,
    *,
    method: str = "auto",
    options: Mapping[str, Any] | None = None,
    model: Model | None = None,
    bounds: _Pair | Sequence[_Pair] | tuple[ArrayLike, ArrayLike] | NDArray[Any] | _Bounds | None = None,
    steps: int | None = None,
    oracle_calls: int | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    tolerance: float = 1e-7,
    callback: Callable[[Progress], object] | None = None,
    threads: int | None = None,
    state: State | None = None,
    executor: _Executor | None = None,
    scales: ArrayLike | None = None,
) -> Result: ...
def solve_batch(
    problems: Iterable[Problem],
    *,
    method: str = "auto",
    options: Mapping[str, Any] | None = None,
    model: Model | None = None,
    steps: int | None = None,
    oracle_calls: int | None = None,
    time_limit: float | None = None,
    target: float | None = None,
    tolerance: float = 1e-7,
    threads: int | None = None,
) -> list[Result]: ...
def train(
    config: _Path | Mapping[str, Any] | None = None,
    *,
    out: _Path,
    data: _Path | Iterable[_Path] | None = None,
    validation: _Path | Iterable[_Path] | None = None,
    resume: bool = False,
    callback: Callable[[TrainingProgress], object] | None = None,
    threads: int | None = None,
) -> Model: ...
def check(fun: _Fun | Sum, points: Iterable[ArrayLike], *, sense: _Sense = "min", whole: _Fun | None = None) -> Check: ...
def run_program(arguments: Sequence[str]) -> int: ...
@final
class Progress:
    @property
    def step(self) -> int: ...
    @property
    def value(self) -> float: ...
    @property
    def best(self) -> float: ...
    @property
    def is_serious(self) -> bool | None: ...
    @property
    def estimate(self) -> float | None: ...
    @property
    def eta(self) -> float | None: ...
    @property
    def cuts(self) -> int | None: ...
    @property
    def nfev(self) -> int: ...
    @property
    def seconds(self) -> float: ...

@final
class Check:
    @property
    def ok(self) -> bool: ...
    @property
    def violations(self) -> list[Violation]: ...
    @property
    def nfev(self) -> int: ...
    def __bool__(self) -> bool: ...

@final
class Violation:
    @property
    def kind(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def component(self) -> int | None: ...
    @property
    def points(self) -> list[int]: ...

@final
class State:
    def __new__(cls) -> State: ...
    @property
    def x(self) -> NDArray[np.float64] | None: ...
    @property
    def value(self) -> float | None: ...
    @property
    def steps(self) -> int: ...
    @property
    def cuts(self) -> int: ...
    def trust_cuts(self) -> None: ...
    def copy(self) -> State: ...
    def __copy__(self) -> State: ...
    def __reduce__(self) -> tuple[Callable[..., State], tuple[Any, ...]]: ...

@final
class TrainingProgress:
    @property
    def stage(self) -> Literal["optima", "gradient", "evolution"]: ...
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def loss(self) -> float | None: ...
    @property
    def gaps(self) -> list[float] | None: ...

@disjoint_base
class Problem:
    @classmethod
    def read(
        cls,
        path: _Path,
        *,
        sense: _Sense | None = None,
        problem: int | None = None,
        capacity: float | None = None,
        formulation: Literal["pglib", "chp"] | None = None,
    ) -> Self: ...
    @classmethod
    def generate(
        cls,
        family: str,
        seed: int,
        *,
        index: int = 0,
        base: Problem | None = None,
        commodities: int | None = None,
    ) -> Self: ...
    def write(self, path: _Path) -> None: ...
    def dual(self) -> Dual: ...
    def solve(
        self,
        x0: ArrayLike | None = None,
        *,
        method: str = "auto",
        options: Mapping[str, Any] | None = None,
        model: Model | None = None,
        steps: int | None = None,
        oracle_calls: int | None = None,
        time_limit: float | None = None,
        target: float | None = None,
        tolerance: float = 1e-7,
        callback: Callable[[Progress], object] | None = None,
        threads: int | None = None,
        state: State | None = None,
    ) -> Result: ...
    def reference(
        self,
        *,
        time_limit: float = 600.0,
        callback: Callable[[Progress], object] | None = None,
        threads: int | None = None,
    ) -> Result: ...
    def safe_bound(self, x: ArrayLike) -> Fraction: ...
    def __reduce__(self) -> tuple[Callable[[str], Problem], tuple[str]]: ...

@final
class NetworkDesign(Problem):
    def __new__(
        cls,
        nodes: int,
        *,
        tails: ArrayLike,
        heads: ArrayLike,
        fixed_costs: ArrayLike,
        capacities: ArrayLike,
        origins: ArrayLike,
        destinations: ArrayLike,
        demands: ArrayLike,
        routing_costs: ArrayLike,
    ) -> Self: ...
    @property
    def nodes(self) -> int: ...
    @property
    def arcs(self) -> int: ...
    @property
    def commodities(self) -> int: ...
    @property
    def tails(self) -> NDArray[np.int64]: ...
    @property
    def heads(self) -> NDArray[np.int64]: ...
    @property
    def fixed_costs(self) -> NDArray[np.float64]: ...
    @property
    def capacities(self) -> NDArray[np.float64]: ...
    @property
    def origins(self) -> NDArray[np.int64]: ...
    @property
    def destinations(self) -> NDArray[np.int64]: ...
    @property
    def demands(self) -> NDArray[np.float64]: ...
    @property
    def routing_costs(self) -> NDArray[np.float64]: ...

@final
class GeneralizedAssignment(Problem):
    def __new__(
        cls, profits: ArrayLike, weights: ArrayLike, capacities: ArrayLike, *, sense: _Sense = "max"
    ) -> Self: ...
    @property
    def bins(self) -> int: ...
    @property
    def items(self) -> int: ...
    @property
    def sense(self) -> _Sense: ...
    @property
    def profits(self) -> NDArray[np.float64]: ...
    @property
    def weights(self) -> NDArray[np.int64]: ...
    @property
    def capacities(self) -> NDArray[np.int64]: ...

@final
class FacilityLocation(Problem):
    def __new__(
        cls, costs: ArrayLike, *, demands: ArrayLike, capacities: ArrayLike, fixed_costs: ArrayLike
    ) -> Self: ...
    @property
    def sites(self) -> int: ...
    @property
    def customers(self) -> int: ...
    @property
    def capacities(self) -> NDArray[np.float64]: ...
    @property
    def fixed_costs(self) -> NDArray[np.float64]: ...
    @property
    def demands(self) -> NDArray[np.float64]: ...
    @property
    def costs(self) -> NDArray[np.float64]: ...

@final
class UnitCommitment(Problem):
    @property
    def formulation(self) -> Literal["pglib", "chp"]: ...
    @property
    def units(self) -> list[str]: ...
    @property
    def periods(self) -> int: ...
    @property
    def demand(self) -> NDArray[np.float64]: ...
    @property
    def reserves(self) -> NDArray[np.float64]: ...
    def best_response(
        self, unit: int, energy_prices: ArrayLike, reserve_prices: ArrayLike | None = None
    ) -> dict[str, Any]: ...

@final
class Blocks:
    @staticmethod
    def read(
        model: _Path, dec: _Path | None = None, relax: str | None = None, *, first_stage: str | None = None
    ) -> Blocks: ...
    @property
    def rows(self) -> list[str]: ...
    @property
    def blocks_found(self) -> list[tuple[str, int, int, int]]: ...
    def solve(
        self,
        x0: ArrayLike | None = None,
        *,
        method: str = "auto",
        options: Mapping[str, Any] | None = None,
        model: Model | None = None,
        steps: int | None = None,
        oracle_calls: int | None = None,
        time_limit: float | None = None,
        target: float | None = None,
        tolerance: float = 1e-7,
        callback: Callable[[Progress], object] | None = None,
        threads: int | None = None,
    ) -> Result: ...

@final
class Dual:
    def __call__(self, x: ArrayLike) -> tuple[float, NDArray[np.float64]]: ...
    @property
    def dim(self) -> int: ...
    @property
    def sense(self) -> _Sense: ...
    @property
    def bounds(self) -> _Pair | list[_Pair]: ...

@final
class Model:
    @staticmethod
    def general() -> Model: ...
    @staticmethod
    def untrained(architecture: Mapping[str, Any] | None = None, *, seed: int = 0) -> Model: ...
    @staticmethod
    def load(path: _Path) -> Model: ...
    def save(self, path: _Path, *, half: bool = False) -> None: ...
    def state_dict(self) -> dict[str, NDArray[np.float32] | NDArray[np.float64]]: ...
    def load_state_dict(self, state: Mapping[str, ArrayLike]) -> None: ...
    @property
    def architecture(self) -> dict[str, Any]: ...
    @property
    def card(self) -> dict[str, Any]: ...
    @property
    def weight_count(self) -> int: ...
    def __reduce__(self) -> tuple[Callable[[bytes], Model], tuple[bytes]]: ...
