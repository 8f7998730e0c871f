"""The checker of proofs accepts a claim if and only if it follows: beside brute force, on small random problems."""

from __future__ import annotations

import importlib.util
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

PATH = Path(__file__).parents[2] / "tools" / "bundlenet_verify.py"
SPEC = importlib.util.spec_from_file_location("bundlenet_verify", PATH)
assert SPEC is not None and SPEC.loader is not None
checker: Any = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(checker)


def number(random: Random, low: int, high: int, is_whole: bool = False) -> Fraction:
    denominator = 1 if is_whole else random.choice([1, 1, 2, 3, 7, 64, 2**20])
    return Fraction(random.randint(low * denominator, high * denominator), denominator)


def texts(numbers: list[Fraction]) -> list[str]:
    return [str(each) for each in numbers]


def little(random: Random) -> Fraction:
    return Fraction(1, 2 ** random.choice([1, 3, 30, 80]))


def best_knapsack(gains: list[Fraction], weights: list[Fraction], capacity: Fraction) -> Fraction:
    """Over all sets of items."""
    best = Fraction(0)
    for chosen in product([0, 1], repeat=len(gains)):
        if sum(weight * is_in for weight, is_in in zip(weights, chosen)) <= capacity:
            best = max(best, Fraction(sum(gain * is_in for gain, is_in in zip(gains, chosen))))
    return best


def assignment(random: Random) -> tuple[Any, dict[str, Any], bool]:
    """An instance, a proof, and whether its claim follows."""
    bins, items, is_whole = random.randint(1, 3), random.randint(1, 7), random.random() < 0.7
    profits = [[number(random, -3, 12, is_whole) for _ in range(items)] for _ in range(bins)]
    weights = [[number(random, 0, 9, is_whole) for _ in range(items)] for _ in range(bins)]
    capacities = [number(random, 0, 20, is_whole) for _ in range(bins)]
    sense = random.choice(["min", "max"])
    prices = [number(random, random.choice([0, 0, 0, -3]), 8) for _ in range(items)]
    sign = 1 if sense == "max" else -1
    follows = sense == "min" or min(prices) >= 0
    knapsacks = []
    for b in range(bins):
        gains = [sign * (profit - price) for profit, price in zip(profits[b], prices)]
        true = best_knapsack(gains, weights[b], capacities[b])
        kind = random.random()
        knapsacks.append(true + (number(random, 0, 3) if kind < 0.2 else -little(random) if kind < 0.3 else 0))
        follows = follows and knapsacks[b] >= true
    error = random.choice([0, 0, 0, 1, -1]) * little(random)
    follows = follows and error >= 0
    ratios = [number(random, 0, 4) for _ in range(bins)]
    if random.random() < 0.05:
        ratios[0], follows = Fraction(-1, 3), False
    bound = sum(prices) + sign * sum(knapsacks) + sign * error
    lists = {"multipliers": texts(prices), "knapsacks": texts(knapsacks), "ratios": texts(ratios)}
    proof = {"family": "generalised assignment", "sense": sense, "bound": str(bound), **lists}
    return checker.Assignment(sense, capacities, profits, weights), proof, follows


def design(random: Random) -> tuple[Any, dict[str, Any], bool]:
    """An instance, a proof with the best break costs, and whether its claim follows."""
    nodes, is_whole = random.randint(2, 4), random.random() < 0.7
    arcs: list[tuple[int, int, Fraction, Fraction]] = []
    for _ in range(random.randint(1, 5)):
        ends = random.randrange(nodes), random.randrange(nodes)
        arcs.append((*ends, number(random, -3, 20, is_whole), number(random, 1, 9, is_whole)))
    commodities: list[tuple[int, int, Fraction]] = []
    for _ in range(random.randint(1, 3)):
        origin, destination = random.sample(range(nodes), 2)
        commodities.append((origin, destination, number(random, 0, 6, is_whole)))
    costs = [[number(random, -4, 9, is_whole) for _ in commodities] for _ in arcs]
    prices = [[number(random, -9, 9) for _ in range(nodes)] for _ in commodities]
    value = Fraction(sum((row[o] - row[d]) * demand for row, (o, d, demand) in zip(prices, commodities)))
    breaks = []
    for (tail, head, fixed, capacity), row in zip(arcs, costs):
        left, flow, slope = capacity, Fraction(0), Fraction(0)
        usable = [k for k, (origin, destination, _) in enumerate(commodities) if head != origin and tail != destination]
        for reduced, demand in sorted((row[k] - prices[k][tail] + prices[k][head], commodities[k][2]) for k in usable):
            if reduced < 0 < left:
                slope = reduced if demand >= left else slope
                flow, left = flow + reduced * min(left, demand), left - min(left, demand)
        breaks.append(slope)
        value += min(Fraction(0), fixed + flow)
    error = random.choice([0, 0, 0, 1, -1]) * little(random)
    follows = error <= 0
    if random.random() < 0.1:
        breaks[0], follows = little(random), False
    lists = {"multipliers": texts([price for row in prices for price in row]), "breaks": texts(breaks)}
    proof = {"family": "network design", "sense": "min", "bound": str(value + error), **lists}
    return checker.NetworkDesign(nodes, arcs, commodities, costs), proof, follows


@pytest.mark.parametrize("draw", [assignment, design])
def test_a_claim_is_accepted_if_and_only_if_it_follows(draw: Any) -> None:
    random, counts = Random(1), [0, 0]
    for _ in range(1500):
        instance, proof, follows = draw(random)
        try:
            checker.verify(instance, {"format": checker.FORMAT, **proof})
            is_accepted = True
        except checker.Rejected:
            is_accepted = False
        assert is_accepted == follows, (vars(instance), proof)
        counts[follows] += 1
    assert min(counts) > 300, counts


ASSIGNMENT = [1, 3, 4, 5, 6, 1, 2, 1, 3]  # one bin, three items: profits, weights, capacity


def shapes() -> list[tuple[str, int | None]]:
    """Texts of the same problem with other line breaks, and its number in the text."""
    words = [str(word) for word in ASSIGNMENT]
    lines = "1 3\n4 5 6\n1 2 1\n3\n"
    two = "2\n1 1\n1\n1\n1\n" + lines
    return [(lines, None), ("1\n" + lines, 1), (" ".join(words), None), ("1 " + " ".join(words), 1), (two, 2)] + [
        ("\n".join(words), None),
        (lines.replace("\n", "\r\n"), None),
        ("1\n" + "\n".join(words), None),
    ]


@pytest.mark.parametrize(("text", "problem"), shapes())
@pytest.mark.parametrize("name", ["problem.txt", "problem"])
def test_line_breaks_do_not_matter(text: str, problem: int | None, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, newline="")
    instance = checker.read_instance(str(tmp_path / name), "max", problem)
    assert (instance.profits, instance.weights, instance.capacities) == ([[4, 5, 6]], [[1, 2, 1]], [3])


def test_facility_location_is_no_assignment(tmp_path: Path) -> None:
    """Two sites and two customers have as many numbers as two bins and two items."""
    (tmp_path / "two.txt").write_text("2 2\n9 2\n9 4\n5\n6 7\n8\n9 10\n")
    with pytest.raises(checker.Unusable, match="facility location"):
        checker.read_instance(str(tmp_path / "two.txt"), None, None)
