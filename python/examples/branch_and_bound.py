"""A branch and bound for generalised assignment: every node starts from a copy of its parent's state.

    python branch_and_bound.py [figure.svg]

Every item goes into exactly one bin, at the least cost. That it does is dualised, and each bin is a knapsack problem. A
node forbids some items in some bins. A knapsack of the parent without such an item is also one of the child: `reprice`
keeps its cut. Costs are whole numbers, so that a node ends as soon as its bound exceeds the best cost minus 1. This is
`target`.
"""

import sys
from functools import partial

import numpy as np
from numpy.typing import NDArray

import bundlenet

Vector = NDArray[np.float64]
Items = tuple[int, ...]
BINS, ITEMS = 4, 20
random = np.random.default_rng(2)
weights = random.integers(5, 26, size=(BINS, ITEMS))
costs = (111 - weights + random.integers(-10, 11, size=(BINS, ITEMS))).astype(float)
capacities = (0.8 * weights.sum(axis=1) / BINS).astype(int)


def knapsack(box: int, is_forbidden: NDArray[np.bool_], u: Vector) -> tuple[float, list[int], list[float], Items]:
    """The items of least reduced cost that fit into a bin."""
    reduced = costs[box] - u
    best = np.zeros(capacities[box] + 1)
    takes = np.zeros((ITEMS, len(best)), dtype=bool)
    for item in map(int, np.flatnonzero((reduced < 0.0) & ~is_forbidden)):
        weight = weights[box, item]
        taken = best[: len(best) - weight] + reduced[item]
        takes[item, weight:] = taken < best[weight:]
        best[weight:] = np.minimum(best[weight:], taken)
    chosen: list[int] = []
    room = int(capacities[box])
    for item in range(ITEMS - 1, -1, -1):
        if takes[item, room]:
            chosen.append(item)
            room -= int(weights[box, item])
    return float(reduced[chosen].sum()), chosen, [-1.0] * len(chosen), tuple(chosen)


def dual(forbidden: NDArray[np.bool_]) -> bundlenet.Sum:
    """The dual of a node."""

    def reprice(box: int, items: Items) -> tuple[float, list[int], list[float]] | None:
        if forbidden[box, list(items)].any():
            return None
        return float(costs[box, list(items)].sum()), list(items), [-1.0] * len(items)

    return bundlenet.Sum(
        [partial(knapsack, box, forbidden[box]) for box in range(BINS)],
        linear=np.ones(ITEMS),
        fingerprints=[forbidden[box].tobytes() for box in range(BINS)],
        reprice=reprice,
    )


def rounded(x: Vector, forbidden: NDArray[np.bool_]) -> tuple[float, list[int]]:
    """A solution near `x`: items by falling weight, each into the bin with the largest share that has room."""
    room, boxes = capacities.copy(), [0] * ITEMS
    for item in np.argsort(-weights.min(axis=0)):
        fits = (weights[:, item] <= room) & ~forbidden[:, item]
        if not fits.any():
            return np.inf, boxes
        boxes[item] = int(np.lexsort((costs[:, item], -x[:, item], ~fits))[0])
        room[boxes[item]] -= weights[boxes[item], item]
    return float(costs[boxes, range(ITEMS)].sum()), boxes


def branch_and_bound(is_warm: bool) -> tuple[float, int, list[tuple[float, float]]]:
    """Best cost, number of oracle calls, and the bound and best cost after each node."""
    best, calls = np.inf, 0
    history: list[tuple[float, float]] = []
    queue = [(0.0, np.zeros((BINS, ITEMS), dtype=bool), bundlenet.State())]
    while queue:
        bound, forbidden, state = queue.pop(min(range(len(queue)), key=lambda index: queue[index][0]))
        history.append((bound, best))
        if bound > best - 1.0 + 1e-6:
            break
        state = state.copy() if is_warm else bundlenet.State()
        target = best - 1.0 + 1e-5 if np.isfinite(best) else None
        result = bundlenet.maximize(dual(forbidden), state=state, target=target, tolerance=1e-6)
        calls += result.nfev
        if result.status in ("bound-reached", "unbounded") or result.primal is None:
            continue
        x = np.zeros((BINS, ITEMS))
        for box, weight, items in result.primal:
            x[box, list(items)] += weight
        best = min(best, rounded(x, forbidden)[0])
        # The item that is most undecided goes into its first bin, or into another one.
        item = int(x.max(axis=0).argmin())
        for allowed in (np.arange(BINS) == x[:, item].argmax(), np.arange(BINS) != x[:, item].argmax()):
            child = forbidden.copy()
            child[~allowed, item] = True
            queue.append((result.fun, child, state))
    return best, calls, history


best, warm_calls, history = branch_and_bound(is_warm=True)
same, cold_calls, _ = branch_and_bound(is_warm=False)
print(f"optimum {best:.0f} after {len(history)} nodes: {warm_calls} calls with states, {cold_calls} without")
assert best == same and warm_calls < cold_calls

if len(sys.argv) > 1:
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "bundlenet"
    figure, axes = plt.subplots(figsize=(6, 3.5))
    axes.plot([bound for bound, _ in history[1:]], label="bound")
    axes.plot([value for _, value in history[1:]], label="best cost")
    axes.set(xlabel="node", ylabel="cost", title="Branch and bound")
    axes.legend()
    figure.savefig(sys.argv[1], bbox_inches="tight", metadata={"Date": None})
