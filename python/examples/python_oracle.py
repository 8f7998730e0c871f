"""A Lagrangian dual that is not built in: the bound of Held and Karp on the travelling salesman's tour.

A tour is a 1-tree (a spanning tree of all cities but the first, and two edges at the first) in which every city has two
edges. With a multiplier x_i for the edges at city i, the dual is

    L(x) = min over 1-trees T of  sum over edges ij of T of (d_ij + x_i + x_j)  -  2 sum_i x_i,

concave, with the subgradient (edges of T at city i) - 2; and the minimum is found greedily.
"""

import numpy as np
from numpy.typing import NDArray

import bundlenet

Vector = NDArray[np.float64]


def one_tree(lengths: Vector) -> tuple[float, Vector]:
    """Length of the shortest 1-tree, and the number of its edges at each city."""
    count = len(lengths)
    edges = np.zeros(count)
    is_outside = np.ones(count, dtype=bool)
    is_outside[:2] = False
    nearest = np.ones(count, dtype=np.int64)
    total = 0.0
    # Prim: always the city that is nearest to the tree, which begins with the second city.
    reach = np.where(is_outside, lengths[1], np.inf)
    for _ in range(count - 2):
        city = int(reach.argmin())
        total += float(reach[city])
        edges[[city, nearest[city]]] += 1
        is_outside[city] = False
        is_nearer = is_outside & (lengths[city] < reach)
        nearest[is_nearer] = city
        reach = np.where(is_outside, np.minimum(reach, lengths[city]), np.inf)
    two = 1 + np.argsort(lengths[0, 1:])[:2]
    edges[0] = 2
    edges[two] += 1
    return total + float(lengths[0, two].sum()), edges


random = np.random.default_rng(1)
cities = random.uniform(size=(60, 2))
distances = np.linalg.norm(cities[:, None] - cities[None, :], axis=2)


def held_karp(x: Vector) -> tuple[float, Vector]:
    """The dual and a subgradient."""
    length, edges = one_tree(distances + x[:, None] + x[None, :])
    return length - 2 * float(x.sum()), edges - 2


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


result = bundlenet.maximize(held_karp, np.zeros(len(cities)), tolerance=1e-4)
tour = two_opt()
print(result)
print(f"shortest 1-tree {result.trace.value[0]:.4f} <= Held and Karp {result.fun:.4f} <= a tour {tour:.4f}")
assert result.trace.value[0] < result.fun <= tour
