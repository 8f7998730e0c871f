"""Capacitated facility location: a bound by components, a primal solution, and a warm start after the costs change.

    python facility_location.py [figure.svg]

Sites j have a capacity and a fixed cost, customers i a demand. That every customer is served is dualised:

    L(u) = sum_i u_i + sum_j min(0, fixed_j + min { sum_i (cost_ji - u_i) x_i : 0 <= x <= 1, demand'x <= capacity_j })

Every site is a component. Its solution is the set of customers it serves. The weights of these solutions, in
`result.primal`, solve the strong linear relaxation.
"""

import sys
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bundlenet

Vector = NDArray[np.float64]
Shares = dict[int, float]

random = np.random.default_rng(3)
sites, customers = random.uniform(size=(12, 2)), random.uniform(size=(60, 2))
demands = random.uniform(5.0, 35.0, size=60)
capacities, fixed = np.full(12, 250.0), np.full(12, 120.0)
service = 10.0 * demands * np.linalg.norm(sites[:, None] - customers[None, :], axis=2)


def line(costs: Vector, site: int, shares: Shares) -> tuple[float, list[int], list[float]]:
    """The cost of a site that serves these shares, and its entries in the constraints `sum_j x_ji = 1`."""
    if not shares:
        return 0.0, [], []
    cost = fixed[site] + sum(costs[site, customer] * share for customer, share in shares.items())
    return float(cost), list(shares), [-share for share in shares.values()]


def serve(costs: Vector, site: int, u: Vector) -> tuple[float, list[int], list[float], Shares]:
    """Serves the customers that pay, those that pay most for a unit of demand first."""
    shares: Shares = {}
    room = capacities[site]
    reduced = costs[site] - u
    for customer in np.argsort(reduced / demands):
        if reduced[customer] >= 0.0 or room <= 0.0:
            break
        shares[int(customer)] = min(1.0, room / demands[customer])
        room -= demands[customer] * shares[int(customer)]
    value = fixed[site] + sum(reduced[customer] * share for customer, share in shares.items())
    if value >= 0.0:
        return 0.0, [], [], {}
    return float(value), list(shares), [-share for share in shares.values()], shares


def dual(costs: Vector) -> bundlenet.Sum:
    """The dual: a site is the same if its costs are, and a service that was possible is possible at other costs."""
    return bundlenet.Sum(
        [partial(serve, costs, site) for site in range(len(sites))],
        linear=np.ones(len(customers)),
        fingerprints=[costs[site].tobytes() for site in range(len(sites))],
        reprice=lambda site, shares: line(costs, site, shares),
    )


def served(primal: list[tuple[int, float, Any]]) -> Vector:
    """The share of each customer that each site serves."""
    x = np.zeros(service.shape)
    for site, weight, shares in primal:
        for customer, share in shares.items():
            x[site, customer] += weight * share
    return x


state = bundlenet.State()
result = bundlenet.maximize(dual(service), state=state)
assert result.success and result.primal is not None
x = served(result.primal)
cost = float((service * x).sum() + sum(fixed[site] * weight for site, weight, shares in result.primal if shares))
print(f"bound {result.fun:.4f} after {result.nfev} calls; cost of the primal solution {cost:.4f}")
print(f"every customer is served: {abs(x.sum(axis=0) - 1.0).max():.1e} is the largest deviation")

# The service of three customers gets dearer.
dearer = service.copy()
dearer[:, :3] *= 1.05
cold = bundlenet.maximize(dual(dearer))
warm = bundlenet.maximize(dual(dearer), state=state)
print(f"after a change: {cold.nfev} calls from scratch, {warm.nfev} from the state, cuts {warm.reuse}")
assert abs(warm.fun - cold.fun) < 1e-5 * cold.fun and warm.nfev < cold.nfev

if len(sys.argv) > 1:
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "bundlenet"
    figure, axes = plt.subplots(figsize=(5, 5))
    for site, customer in np.argwhere(x > 1e-3):
        ends = np.array([sites[site], customers[customer]])
        axes.plot(*ends.T, color="tab:blue", alpha=min(1.0, float(x[site, customer])), linewidth=1, zorder=1)
    axes.scatter(customers[:, 0], customers[:, 1], s=demands, color="tab:gray", zorder=2)
    axes.scatter(sites[:, 0], sites[:, 1], s=120, marker="s", color="tab:orange", zorder=3)
    axes.set(xticks=[], yticks=[], title="Service in the primal solution")
    figure.savefig(sys.argv[1], bbox_inches="tight", metadata={"Date": None})
