"""Minimise convex nonsmooth functions, above all Lagrangian duals.

>>> import bundlenet
>>> result = bundlenet.minimize(lambda x: (abs(x[0]), [1.0 if x[0] > 0 else -1.0]), [3.0])
>>> result.status
'optimal'
"""

from ._bundlenet import (
    Blocks,
    Check,
    Dual,
    FacilityLocation,
    GeneralizedAssignment,
    Model,
    NetworkDesign,
    Problem,
    Progress,
    State,
    TrainingProgress,
    UnitCommitment,
    Violation,
    __version__,
    check,
    maximize,
    minimize,
    solve_batch,
    train,
)
from ._result import OracleError, Result, Trace
from ._sum import Sum

__all__ = [
    "Blocks",
    "Check",
    "Dual",
    "FacilityLocation",
    "GeneralizedAssignment",
    "Model",
    "NetworkDesign",
    "OracleError",
    "Problem",
    "Progress",
    "Result",
    "State",
    "Sum",
    "Trace",
    "TrainingProgress",
    "UnitCommitment",
    "Violation",
    "__version__",
    "check",
    "maximize",
    "minimize",
    "solve_batch",
    "train",
]
