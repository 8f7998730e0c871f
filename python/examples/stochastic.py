"""A two-stage stochastic program by dual decomposition, with subproblems that are solved to a gap, in parallel.

    python stochastic.py [figure.svg]          needs highspy

Plants are built before the demand is known, and serve it afterwards. Every scenario s gets plants z_s of its own. That
they are equal, z_s = z_0, is dualised:

    L(u) = sum_s min { p_s (build'z + ship'y + penalty w) + u_s'z : scenario s },   u_0 = -(u_1 + u_2 + ...)

HiGHS solves each scenario to the gap that the method wishes for. The incumbent is the cut, the dual bound is the value.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bundlenet

try:
    import highspy
except ImportError:
    print("highspy is missing: pip install highspy")
    sys.exit()

Vector = NDArray[np.float64]
PLANTS, CUSTOMERS, SCENARIOS, PENALTY = 6, 8, 6, 40.0
random = np.random.default_rng(5)
build, capacity = random.uniform(60.0, 90.0, size=PLANTS), 45.0
ship = random.uniform(1.0, 9.0, size=(PLANTS, CUSTOMERS))
demand = random.uniform(0.0, 30.0, size=(SCENARIOS, CUSTOMERS))


def model(scenarios: list[int], probability: float) -> tuple[Any, list[Any]]:
    """The problem of some scenarios with common plants."""
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("threads", 1)
    plants = [highs.addBinary(obj=probability * len(scenarios) * build[plant]) for plant in range(PLANTS)]
    for scenario in scenarios:
        amounts = [
            [highs.addVariable(obj=probability * ship[plant, customer]) for customer in range(CUSTOMERS)]
            for plant in range(PLANTS)
        ]
        for plant in range(PLANTS):
            highs.addConstr(sum(amounts[plant][1:], amounts[plant][0] + 0.0) <= capacity * plants[plant])
        for customer in range(CUSTOMERS):
            missing = highs.addVariable(obj=probability * PENALTY)
            supply = sum((amounts[plant][customer] for plant in range(PLANTS)), missing + 0.0)
            highs.addConstr(supply >= demand[scenario, customer])
    return highs, plants


models = [model([scenario], 1.0 / SCENARIOS) for scenario in range(SCENARIOS)]
costs = build / SCENARIOS


def subproblem(scenario: int, u: Vector, accuracy: float) -> tuple[tuple[float, float], NDArray[np.int64], Vector]:
    """Solves a scenario to the wished gap. Returns the incumbent as a cut, and the dual bound."""
    highs, plants = models[scenario]
    prices = u.reshape(SCENARIOS - 1, PLANTS)
    price = prices[scenario - 1] if scenario > 0 else -prices.sum(axis=0)
    for plant in range(PLANTS):
        highs.changeColCost(plants[plant].index, costs[plant] + price[plant])
    highs.setOptionValue("mip_abs_gap", min(accuracy, 10.0))
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.run()
    info = highs.getInfo()
    values = np.array(highs.getSolution().col_value, dtype=np.float64)
    built: Vector = np.round(values[[plant.index for plant in plants]])
    interval = (info.objective_function_value, min(info.mip_dual_bound, info.objective_function_value))
    if scenario > 0:
        return interval, (scenario - 1) * PLANTS + np.arange(PLANTS, dtype=np.int64), built
    return interval, np.arange((SCENARIOS - 1) * PLANTS, dtype=np.int64), np.tile(-built, SCENARIOS - 1)


dual = bundlenet.Sum([partial(subproblem, scenario) for scenario in range(SCENARIOS)])
with ThreadPoolExecutor(2) as executor:
    result = bundlenet.maximize(dual, np.zeros((SCENARIOS - 1) * PLANTS), tolerance=1e-3, executor=executor)

whole, _ = model(list(range(SCENARIOS)), 1.0 / SCENARIOS)
whole.run()
optimum = whole.getInfo().objective_function_value
alone = result.trace.best[0]
print(result.message)
print(f"scenarios alone {alone:.3f} <= bound {result.fun:.3f} <= optimum {optimum:.3f}; {result.nfev} calls")
assert alone < result.fun <= optimum + 1e-6

if len(sys.argv) > 1:
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "bundlenet"
    figure, axes = plt.subplots(figsize=(6, 3.5))
    axes.step(result.trace.step, result.trace.best, where="post", label="Lagrangian bound")
    axes.axhline(optimum, color="tab:gray", linestyle="--", label="optimum")
    axes.set(xlabel="step", ylabel="expected cost", title="Dual decomposition")
    axes.legend()
    figure.savefig(sys.argv[1], bbox_inches="tight", metadata={"Date": None})
