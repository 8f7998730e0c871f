#!/usr/bin/env python3
"""Checks a proof of `bundlenet solve INSTANCE --safe --proof PROOF`, in exact arithmetic.

    python3 bundlenet_verify.py INSTANCE PROOF [--sense min|max] [--problem N]

It needs Python 3.8 and nothing else: no part of bundlenet. It prints the theorem that it has proved, and exits with 0.
It exits with 1 if the proof does not prove its bound, and with 2 if a file cannot be used. docs/proofs.md explains it.
"""

import argparse
import gzip
import json
import re
import sys
import zlib
from fractions import Fraction
from math import gcd

FORMAT = "bundlenet proof 1"


class Rejected(Exception):
    """The proof does not prove its bound."""


class Unusable(Exception):
    """A file is not what it should be."""


# ---------------------------------------------------------------------------------------------------- the instance


class NetworkDesign:
    """Multicommodity network design: cheapest arcs and flows that meet all demands within the capacities.

    A commodity uses no arc into its origin and none out of its destination.
    """

    sense = "min"

    def __init__(self, nodes, arcs, commodities, costs):
        self.nodes = nodes  # their number
        self.arcs = arcs  # tail, head, fixed cost, capacity
        self.commodities = commodities  # origin, destination, demand
        self.costs = costs  # costs[arc][commodity] of a unit of flow
        for tail, head, _, capacity in arcs:
            require(0 <= tail < nodes and 0 <= head < nodes, "an arc between nodes that exist")
            require(capacity > 0, "positive capacities")
        for origin, destination, demand in commodities:
            require(0 <= origin < nodes and 0 <= destination < nodes, "commodities between nodes that exist")
            require(origin != destination and demand >= 0, "two ends and a nonnegative demand of each commodity")
        require(len(costs) == len(arcs) and all(len(row) == len(commodities) for row in costs), "a cost for each pair")

    def describe(self):
        sizes = f"{self.nodes} nodes, {len(self.arcs)} arcs, {len(self.commodities)} commodities"
        return f"network design, {sizes}: every design costs at least"


class Assignment:
    """Generalised assignment: items in bins within their capacities.

    `max`: each item in at most one bin, highest profit. `min`: each item in exactly one bin, least cost.
    """

    def __init__(self, sense, capacities, profits, weights):
        self.sense = sense
        self.capacities = capacities
        self.profits = profits  # by bin, then item
        self.weights = weights
        require(len(profits) == len(weights) == len(capacities) > 0, "a row of profits and weights for each bin")
        self.items = len(profits[0])
        require(all(len(row) == self.items > 0 for row in profits + weights), "a number for each bin and item")
        require(all(weight >= 0 for row in weights for weight in row), "nonnegative weights")
        require(all(capacity >= 0 for capacity in capacities), "nonnegative capacities")

    def describe(self):
        kind = "profit, each item at most once" if self.sense == "max" else "cost, each item exactly once"
        claim = "has at most the profit" if self.sense == "max" else "costs at least"
        sizes = f"{len(self.capacities)} bins, {self.items} items"
        return f"generalised assignment ({kind}), {sizes}: every assignment {claim}"


def require(holds, expected):
    if not holds:
        raise Unusable(f"instance: expected {expected}")


def read_instance(path, sense, number):
    with open(path, "rb") as file:
        content = file.read()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    text = content.decode("utf-8", "replace").lstrip("\ufeff")
    name = path.lower()
    name = name[:-3] if name.endswith(".gz") else name
    kind = name.rsplit(".", 1)[-1]
    kind = kind if kind in ("json", "dat", "dow", "txt", "gap") else kind_of_content(text)
    if kind == "json":
        return from_json(text, sense)
    if kind == "dat":
        return from_dat(Tokens(text))
    if kind == "dow":
        return from_dow(text)
    try:
        return from_assignment_text(text, sense or "min", number)
    except Unusable:
        if kind != "txt or dat":
            raise
    return from_dat(Tokens(text))


def kind_of_content(text):
    """The format of a file whose name does not tell it."""
    first = text.lstrip().split("\n", 1)[0].split()
    if first and first[0].startswith("{"):
        return "json"
    if not all(re.fullmatch(r"[0-9]+", word) for word in first):
        return "dow"
    return "txt or dat" if len(first) >= 3 else "txt"


def decimal(text):
    """The number that a text means, to the last digit: digits, a point, a small exponent."""
    form = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
    require(re.fullmatch(form, text), f"a number, found {text[:40]!r}")
    return Fraction(text)


def exact(number):
    require(isinstance(number, (int, Fraction)) and not isinstance(number, bool), f"a number, found {number!r}")
    return Fraction(number)


def whole(number):
    number = exact(number)
    require(number.denominator == 1, f"a whole number, found {number}")
    return int(number)


def unique(pairs):
    """The fields of an object, each of which has one value."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("expected each key once in an object, found one twice")
    return fields


def from_json(text, sense):
    # Numbers are read as they are written, not as floating-point numbers.
    fields = json.loads(text, parse_float=decimal, parse_constant=decimal, object_pairs_hook=unique)
    # `null` is the same as no value.
    inner = fields.get("instance")
    fields = {key: value for key, value in (fields if inner is None else inner).items() if value is not None}

    def numbers(key):
        return [exact(number) for number in fields[key]]

    if "tail" in fields:
        arcs = list(zip(map(whole, fields["tail"]), map(whole, fields["head"]), numbers("f"), numbers("c")))
        lengths = {len(fields[key]) for key in ("tail", "head", "f", "c")}
        ends = list(zip(map(whole, fields["o"]), map(whole, fields["d"]), numbers("q")))
        require(len(lengths) == 1 and len({len(fields[key]) for key in "odq"}) == 1, "lists of the same length")
        rows = [[exact(cost) for cost in row] for row in fields["r"]]
        require(len(rows) == len(ends) and all(len(row) == len(arcs) for row in rows), "a cost for each pair")
        return NetworkDesign(whole(fields["N"]), arcs, ends, [list(column) for column in zip(*rows)])
    if "p" in fields:
        sense = fields.get("sense", sense or "max")
        require(sense in ("min", "max"), f"the sense min or max, found {sense}")
        tables = [[[exact(number) for number in row] for row in fields[key]] for key in "pw"]
        instance = Assignment(sense, numbers("c"), *tables)
        require((whole(fields["J"]), whole(fields["I"])) == (len(instance.capacities), instance.items), "sizes J and I")
        return instance
    raise Unusable("instance: expected network design or generalised assignment")


class Tokens:
    """Numbers of a text, separated by white space."""

    def __init__(self, text):
        self.tokens = iter(text.split())

    def word(self):
        try:
            return next(self.tokens)
        except StopIteration:
            raise Unusable("instance: expected more numbers") from None

    def number(self):
        return decimal(self.word())

    def whole(self):
        return whole(self.number())

    def numbers(self, count):
        return [self.number() for _ in range(count)]

    def end(self):
        require(next(self.tokens, None) is None, "no more numbers")


def from_dat(tokens):
    nodes, arc_count, count = tokens.whole(), tokens.whole(), tokens.whole()
    arcs, costs, limits = [], [], []
    for arc in range(arc_count):
        head, tail = tokens.whole() - 1, tokens.whole() - 1
        arcs.append((tail, head, tokens.number(), tokens.number()))
        require(tokens.whole() == count, "all commodities on each arc")
        row = {}
        for _ in range(count):
            commodity = tokens.whole() - 1
            row[commodity] = tokens.number()
            limits.append((arc, commodity, tokens.number()))
        require(sorted(row) == list(range(count)), "each commodity once on each arc")
        costs.append([row[commodity] for commodity in range(count)])
    ends = [[None, None] for _ in range(count)]
    for _ in range(2 * count):
        commodity, node, amount = tokens.whole() - 1, tokens.whole() - 1, tokens.word()
        side = 0 if amount.startswith("-") else 1
        require(0 <= commodity < count and ends[commodity][side] is None, "one origin and one destination")
        ends[commodity][side] = (node, abs(decimal(amount)))
    tokens.end()
    require(all(origin[1] == destination[1] for origin, destination in ends), "as much to arrive as leaves")
    commodities = [(origin[0], destination[0], origin[1]) for origin, destination in ends]
    for arc, commodity, limit in limits:
        require(limit >= min(commodities[commodity][2], arcs[arc][3]), "no tight limit of a commodity on an arc")
    return NetworkDesign(nodes, arcs, commodities, costs)


def from_dow(text):
    lines = text.lstrip().split("\n", 1)
    require(len(lines) == 2, "a title line")
    tokens = Tokens(lines[1])
    nodes, arc_count, count = tokens.whole(), tokens.whole(), tokens.whole()
    arcs, costs = [], []
    for _ in range(arc_count):
        tail, head = tokens.whole() - 1, tokens.whole() - 1
        cost, capacity, fixed, _, _ = tokens.numbers(5)
        arcs.append((tail, head, fixed, capacity))
        costs.append([cost] * count)
    commodities = [(tokens.whole() - 1, tokens.whole() - 1, tokens.number()) for _ in range(count)]
    tokens.end()
    return NetworkDesign(nodes, arcs, commodities, costs)


def from_assignment_text(text, sense, number):
    lines = [len(line.split()) for line in text.split("\n") if line.strip()]
    require(lines, "a number")
    # Two sites and two customers have as many numbers as two bins and two items.
    require(lines[:4] != [2, 2, 2, 1], "generalised assignment, found the lines of facility location")
    try:
        problems = from_assignment_numbers(Tokens(text), sense, lines[0] == 1)
    except Unusable:
        # Line breaks elsewhere tell less: the number of numbers decides.
        if lines[0] == 2 or (lines[0] == 1 and lines[1:2] != [1]):
            raise
        problems = from_assignment_numbers(Tokens(text), sense, lines[0] != 1)
    count = len(problems)
    require(number is not None or count == 1, f"--problem N, a number from 1 to {count}")
    require(number is None or 1 <= number <= count, f"--problem from 1 to {count}")
    return problems[(number or 1) - 1]


def from_assignment_numbers(tokens, sense, is_counted):
    """All problems of a text, which begins with their number if it `is_counted`."""
    problems = []
    for _ in range(tokens.whole() if is_counted else 1):
        bins, items = tokens.whole(), tokens.whole()
        profits = [tokens.numbers(items) for _ in range(bins)]
        weights = [tokens.numbers(items) for _ in range(bins)]
        problems.append(Assignment(sense, tokens.numbers(bins), profits, weights))
    tokens.end()
    return problems


# ------------------------------------------------------------------------------------------------------- the proof


def fraction(text, name):
    """A fraction as a text of digits: no other way to write a number is allowed."""
    if not isinstance(text, str) or not re.fullmatch(r"-?[0-9]+(/[0-9]*[1-9][0-9]*)?", text):
        raise Rejected(f"{name}: expected a fraction, found {text!r}")
    return Fraction(text)


def fractions(proof, key, count):
    entries = proof.get(key)
    if not isinstance(entries, list) or len(entries) != count:
        raise Rejected(f"{key}: expected a list of {count} fractions")
    return [fraction(entry, f"{key}[{index}]") for index, entry in enumerate(entries)]


def common_denominator(numbers):
    denominator = 1
    for number in numbers:
        denominator *= number.denominator // gcd(denominator, number.denominator)
    return denominator


def design_value(instance, proof):
    """A lower bound on the cost of every design.

    The Lagrangian relaxation of the flow conservation has a problem for each arc: closed, it costs 0; open, its fixed
    cost and the cheapest flow at the reduced costs w, at most q of each commodity and c together. By linear programming
    duality that flow costs at least b c + sum of q min(0, w - b), for every b <= 0. The proof has such a b for each arc.
    """
    nodes, count = instance.nodes, len(instance.commodities)
    prices = fractions(proof, "multipliers", nodes * count)
    breaks = fractions(proof, "breaks", len(instance.arcs))
    data = [fixed for _, _, fixed, _ in instance.arcs] + [cost for row in instance.costs for cost in row]
    demands = [demand for _, _, demand in instance.commodities]
    # Integers are faster than fractions: money is in units of 1 / money, amounts in units of 1 / amount.
    money = common_denominator(prices + breaks + data)
    amount = common_denominator(demands + [capacity for _, _, _, capacity in instance.arcs])
    prices, demands = [int(price * money) for price in prices], [int(demand * amount) for demand in demands]
    value = 0
    for k, (origin, destination, _) in enumerate(instance.commodities):
        value += demands[k] * (prices[k * nodes + origin] - prices[k * nodes + destination])
    for (tail, head, fixed, capacity), row, slope in zip(instance.arcs, instance.costs, breaks):
        if slope > 0:
            raise Rejected(f"breaks: expected no positive number, found {slope}")
        slope = int(slope * money)
        flow = slope * int(capacity * amount)
        for k, (origin, destination, _) in enumerate(instance.commodities):
            if head != origin and tail != destination:
                reduced = int(row[k] * money) - prices[k * nodes + tail] + prices[k * nodes + head]
                flow += demands[k] * min(0, reduced - slope)
        value += min(0, int(fixed * money) * amount + flow)
    return Fraction(value, money * amount)


def assignment_value(instance, proof):
    """An upper bound on the profit of every assignment, or a lower bound on the cost.

    The Lagrangian relaxation of the rule that places each item once has a knapsack for each bin. The proof has an upper
    bound on the value of each knapsack, and a ratio that makes it easy to check.
    """
    prices = fractions(proof, "multipliers", instance.items)
    is_max = instance.sense == "max"
    if is_max and min(prices) < 0:
        raise Rejected(f"multipliers: expected no negative number, found {min(prices)}")
    bins = len(instance.capacities)
    bounds, ratios = fractions(proof, "knapsacks", bins), fractions(proof, "ratios", bins)
    for b in range(bins):
        gains = [p - u if is_max else u - p for p, u in zip(instance.profits[b], prices)]
        if not knapsack_is_within(gains, instance.weights[b], instance.capacities[b], bounds[b], ratios[b]):
            raise Rejected(f"knapsacks[{b}]: expected an upper bound on the knapsack, found {bounds[b]}")
    return sum(prices) + sum(bounds) if is_max else sum(prices) - sum(bounds)


def knapsack_is_within(gains, weights, capacity, bound, ratio):
    """Whether no set of items within the capacity gains more than `bound`.

    For ratio >= 0, U = ratio c + sum of max(0, g - ratio w) is an upper bound, by linear programming duality. A set of
    items gains U, less |g - ratio w| for each item that is in and should be out (g < ratio w), or out and should be in,
    less ratio for each unit of capacity that is left. So a set that gains more than `bound` loses less than U - bound.
    All sets that lose less are searched, by their weight: of two sets of the same weight, only the one that loses less
    can matter.
    """
    if ratio < 0 or bound < 0:
        raise Rejected(f"expected no negative bound or ratio, found {bound} and {ratio}")
    fitting = [(gain, weight) for gain, weight in zip(gains, weights) if gain > 0 and weight <= capacity]
    scale = common_denominator([bound] + [gain - ratio * weight for gain, weight in fitting])
    size = common_denominator([capacity] + [weight for _, weight in fitting])
    scale *= (ratio / size * scale).denominator
    left_loss = int(ratio / size * scale)  # of one unit of capacity
    room = int(capacity * size)
    items = [(int((gain - ratio * weight) * scale), int(weight * size)) for gain, weight in fitting]
    budget = left_loss * room + sum(max(0, excess) for excess, _ in items) - int(bound * scale)
    if budget <= 0:
        return True
    load = sum(weight for excess, weight in items if excess > 0)
    # The items that may be changed, dear ones first.
    core = sorted(((abs(excess), -weight if excess > 0 else weight) for excess, weight in items), reverse=True)
    core = [(loss, change) for loss, change in core if loss < budget]
    least, most = sum(min(0, change) for _, change in core), sum(max(0, change) for _, change in core)
    states = {load: 0}  # the least loss of each weight
    for loss, change in core:
        least, most = least - min(0, change), most - max(0, change)
        new = {}
        for at, lost in states.items():
            for weight, total in ((at, lost), (at + change, lost + loss)):
                # It has to fit in the end, and may not leave too much.
                if weight + least <= room and total + left_loss * max(0, room - weight - most) < budget:
                    if total < new.get(weight, budget):
                        new[weight] = total
        states = new
    return not any(weight <= room and lost + left_loss * (room - weight) < budget for weight, lost in states.items())


def verify(instance, proof):
    """The bound that the proof proves for the instance. It raises `Rejected` if it proves none."""
    if not isinstance(proof, dict) or proof.get("format") != FORMAT:
        raise Rejected(f"format: expected {FORMAT!r}")
    family = "network design" if isinstance(instance, NetworkDesign) else "generalised assignment"
    for key, expected in (("family", family), ("sense", instance.sense)):
        if proof.get(key) != expected:
            raise Rejected(f"{key}: expected {expected!r}, found {proof.get(key)!r}")
    bound = fraction(proof.get("bound"), "bound")
    value = (design_value if isinstance(instance, NetworkDesign) else assignment_value)(instance, proof)
    if not (bound <= value if instance.sense == "min" else bound >= value):
        raise Rejected(f"bound: expected at {'most' if instance.sense == 'min' else 'least'} {value}, found {bound}")
    return bound


# Errors of a file that is no instance.
UNREADABLE = (OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError, RecursionError, Unusable)


def main():
    parser = argparse.ArgumentParser(description="Checks a proof of bundlenet in exact arithmetic.")
    parser.add_argument("instance", help="the instance file: .json, .dat, .dow, .txt or .gap, plain or gzip")
    parser.add_argument("proof", help="the file of `bundlenet solve --safe --proof`")
    parser.add_argument("--sense", choices=("min", "max"), help="of an assignment file that does not state it")
    parser.add_argument("--problem", type=int, help="number of the problem in a file with several, counted from 1")
    options = parser.parse_args()
    try:
        instance = read_instance(options.instance, options.sense, options.problem)
    except UNREADABLE as error:
        print(f"{options.instance}: {error}", file=sys.stderr)
        return 2
    try:
        with open(options.proof, encoding="utf-8") as file:
            proof = json.load(file, object_pairs_hook=unique)
        bound = verify(instance, proof)
    except (ValueError, Rejected, RecursionError) as error:
        print(f"{options.proof}: rejected: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{options.proof}: {error}", file=sys.stderr)
        return 2
    print(f"proved: {instance.describe()} {bound}" + (f", about {float(bound)}" if abs(bound) < 1e300 else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
