"""A Lagrangian dual that is not built in: the bound of Held and Karp on the travelling salesman's tour.

    python held_karp.py [figure.svg]

A tour is a 1-tree (a spanning tree of all cities but the first, and two edges at the first) in which every city has two
edges. With a multiplier x_i for the edges at city i, the dual is

    L(x) = min over 1-trees T of  sum over edges ij of T of (d_ij + x_i + x_j)  -  2 sum_i x_i,

concave, with the subgradient (edges of T at city i) - 2; and the minimum is found greedily. The 1-tree is the solution
of the only component. In a branch and bound an edge is forbidden; the trees without it then keep their cuts.
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bundlenet

Vector = NDArray[np.float64]
Edges = NDArray[np.int64]

random = np.random.default_rng(1)
cities = random.uniform(size=(60, 2))
distances = np.linalg.norm(cities[:, None] - cities[None, :], axis=2)
EACH = np.arange(len(cities), dtype=np.int64)


def one_tree(lengths: Vector) -> Edges:
    """The edges of the shortest 1-tree, by Prim: always the city that is nearest to the tree."""
    is_outside = EACH > 1
    nearest = np.ones(len(EACH), dtype=np.int64)
    reach = np.where(is_outside, lengths[1], np.inf)
    edges = []
    for _ in range(len(EACH) - 2):
        city = int(reach.argmin())
        edges.append((nearest[city], city))
        is_outside[city] = False
        nearest[is_outside & (lengths[city] < reach)] = city
        reach = np.where(is_outside, np.minimum(reach, lengths[city]), np.inf)
    return np.array(edges + [(0, 1 + city) for city in np.argsort(lengths[0, 1:])[:2]])


def dual(distances: Vector) -> bundlenet.Sum:
    """The dual for some distances; those of forbidden edges are infinite."""

    def line(edges: Edges) -> tuple[float, Edges, Vector]:
        """Length of a 1-tree, and the number of its edges at each city."""
        degrees = np.bincount(edges.ravel(), minlength=len(EACH)).astype(float)
        return float(distances[tuple(edges.T)].sum()), EACH, degrees

    def component(x: Vector) -> tuple[float, Edges, Vector, Edges]:
        edges = one_tree(distances + x[:, None] + x[None, :])
        length, cities, degrees = line(edges)
        return length + float(degrees @ x), cities, degrees, edges

    def reprice(_: int, edges: Edges) -> tuple[float, Edges, Vector] | None:
        return line(edges) if np.isfinite(distances[tuple(edges.T)]).all() else None

    return bundlenet.Sum([component], np.full(len(EACH), -2.0), reprice=reprice)


def two_opt() -> float:
    """Length of a tour that no exchange of two edges makes shorter."""
    tour = list(range(len(cities)))
    improved = True
    while improved:
        improved = False
        for i in range(1, len(tour) - 1):
            for j in range(i + 1, len(tour)):
                a, b, c, d = tour[i - 1], tour[i], tour[j], tour[(j + 1) % len(tour)]
                if distances[a, c] + distances[b, d] < distances[a, b] + distances[c, d] - 1e-12:
                    tour[i : j + 1] = tour[i : j + 1][::-1]
                    improved = True
    return float(sum(distances[tour[i - 1], tour[i]] for i in range(len(tour))))


def shares(primal: list[tuple[int, float, Any]]) -> Vector:
    """The share of each edge in the combination of 1-trees."""
    x = np.zeros(distances.shape)
    for _, weight, edges in primal:
        x[tuple(edges.T)] += weight
    return x + x.T


state = bundlenet.State()
result = bundlenet.maximize(dual(distances), state=state, tolerance=1e-4)
tour = two_opt()
print(result)
print(f"shortest 1-tree {result.trace.value[0]:.4f} <= Held and Karp {result.fun:.4f} <= a tour {tour:.4f}")
assert result.trace.value[0] < result.fun <= tour and result.primal is not None

# Branching: the edge whose share is nearest to one half is forbidden.
x = shares(result.primal)
i, j = np.unravel_index(abs(x - 0.5).argmin(), x.shape)
without = distances.copy()
without[i, j] = without[j, i] = np.inf
cold = bundlenet.maximize(dual(without), tolerance=1e-4)
warm = bundlenet.maximize(dual(without), state=state.copy(), tolerance=1e-4)
print(f"without edge {i}-{j}: {warm.fun:.4f}; {cold.nfev} calls from scratch, {warm.nfev} from the state")
assert warm.nfev < cold.nfev

if len(sys.argv) > 1:
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "bundlenet"
    figure, axes = plt.subplots(figsize=(5, 5))
    for a, b in np.argwhere(np.triu(x) > 1e-3):
        axes.plot(*cities[[a, b]].T, color="tab:blue", alpha=min(1.0, float(x[a, b])), zorder=1)
    axes.scatter(cities[:, 0], cities[:, 1], s=15, color="tab:orange", zorder=2)
    axes.set(xticks=[], yticks=[], title="Shares of the edges in the combination of 1-trees")
    figure.savefig(sys.argv[1], bbox_inches="tight", metadata={"Date": None})
