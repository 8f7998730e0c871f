"""Quick start: a function of your own, and the Lagrangian bound of a built-in problem."""

import numpy as np
from numpy.typing import NDArray

import bundlenet


def function(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """max(x_0, -2 x_0) + |x_1 - 1|, and a subgradient."""
    value = max(x[0], -2 * x[0]) + abs(x[1] - 1)
    subgradient = np.array([1.0 if x[0] >= 0 else -2.0, np.sign(x[1] - 1)])
    return float(value), subgradient


result = bundlenet.minimize(function, [-4.0, 7.0])
print(result)
assert result.success and result.fun < 1e-6

# Network design: the Lagrangian bound, and the gap that is proved.
problem = bundlenet.NetworkDesign.generate("mc-sml-40", seed=7)
bound = problem.solve()
print(f"{problem}: lower bound {bound.fun:.2f}, proved to {bound.certificate:.1e}, {1e3 * bound.seconds:.1f} ms")

# A good bound after few evaluations: a trained network replaces the master problem.
quick = problem.solve(method="network", steps=25)
print(f"after {quick.nit} steps of the network: {100 * (1 - quick.fun / bound.fun):.2f} % below the optimum")

# Many instances at once, on all cores.
problems = [bundlenet.NetworkDesign.generate("mc-sml-40", seed=7, index=index) for index in range(8)]
print("eight bounds:", [round(result.fun) for result in bundlenet.solve_batch(problems)])
