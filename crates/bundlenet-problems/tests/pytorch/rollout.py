"""Runs a checkpoint in PyTorch and compares trial points, values and gradients with those of the library.

Usage: rollout.py FOLDER, with the files that tests/pytorch_agrees.rs writes: model.safetensors, instance.json,
rollout.json, gradient.safetensors. Needs numpy, torch, safetensors. Exits with 1 if the two disagree.

Written from docs/checkpoint.md, not from the library's code, so that agreement says something about all three.
Everything is computed anew in every step and in double precision: this is meant to be read, not to be fast.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from safetensors import safe_open
from torch.nn import functional

# Versions of the format that `load` reads.
VERSIONS = (2, 3, 4, 5, 6)
POINT_TOLERANCE = 1e-4
GRADIENT_TOLERANCE = 1e-3
# A tensor whose gradient is below this share of the largest is compared with the largest: a vector added to all keys
# changes no weight of a cut, so that the gradient of `key.2.bias` is 0 but for rounding.
NEGLIGIBLE = 1e-5


# The two functions: each gives its scales, whether variables are nonnegative, and what evaluates it for minimising.


def network_design(instance):
    """Minus the knapsack relaxation of network design; multipliers are numbered by commodity, then node."""
    tail, head, origin, destination = (np.array(instance[name]) for name in ("tail", "head", "o", "d"))
    fixed, capacity, demand, cost = (np.array(instance[name], dtype=float) for name in ("f", "c", "q", "r"))
    commodities, arcs = np.arange(len(demand)), np.arange(len(tail))
    supply = np.zeros((len(demand), instance["N"]))
    supply[commodities, origin] += demand
    supply[commodities, destination] -= demand
    incidence = np.zeros((len(tail), instance["N"]))
    incidence[arcs, tail] += 1
    incidence[arcs, head] -= 1
    usable = (head != origin[:, None]) & (tail != destination[:, None])

    def evaluate(point):
        price = point.reshape(supply.shape)
        reduced = np.where(usable, cost - price @ incidence.T, 0)
        # A continuous knapsack on each arc: the most negative reduced cost is served first.
        order = np.argsort(reduced, axis=0, kind="stable")
        wanted = np.where(np.take_along_axis(reduced, order, 0) < 0, demand[order], 0)
        served = np.clip(capacity - (np.cumsum(wanted, 0) - wanted), 0, wanted)
        flow = np.empty_like(served)
        np.put_along_axis(flow, order, served, 0)
        cost_of_arc = fixed + (reduced * flow).sum(0)
        is_open = cost_of_arc < 0
        value = (supply * price).sum() + cost_of_arc[is_open].sum()
        return -value, -(supply - (flow * is_open) @ incidence).ravel()

    return np.repeat(1 / demand, instance["N"]), False, evaluate


def assignment(instance):
    """The relaxation of generalised assignment with at most one bin for an item; a multiplier for each item."""
    profit = np.array(instance["p"], dtype=float)
    weights, capacities = np.array(instance["w"], dtype=int), np.array(instance["c"], dtype=int)

    def knapsack(gain, weight, capacity):
        """The best items of one bin, by dynamic programming over capacities."""
        best, takes = np.zeros(capacity + 1), []
        for item_gain, item_weight in zip(gain, weight):
            with_item = np.full(capacity + 1, -np.inf)
            with_item[item_weight:] = best[: max(0, capacity + 1 - item_weight)] + item_gain
            takes.append(with_item > best)
            best = np.maximum(best, with_item)
        chosen = np.zeros(len(gain))
        for item in reversed(range(len(gain))):
            if takes[item][capacity]:
                chosen[item] = 1
                capacity -= weight[item]
        return chosen

    def evaluate(point):
        gains = profit - point
        chosen = np.array([knapsack(*items) for items in zip(gains, weights, capacities)])
        return point.sum() + (gains * chosen).sum(), 1 - chosen.sum(0)

    return np.ones(profit.shape[1]), True, evaluate


class Run:
    """A run so far: its cuts, its centre, and the last proposal with what came of it."""

    def __init__(self, function, has_metric):
        scales, self.is_nonnegative, self.evaluate = function
        self.size, self.has_metric = len(scales), has_metric
        start = np.zeros(self.size)
        value, subgradient = self.evaluate(start)
        self.scale = 1 / np.linalg.norm(subgradient)
        self.points, self.values, self.subgradients = [start], [self.scale * value], [self.scale * subgradient]
        self.errors, self.centre_cut, self.last = np.zeros(1), 0, None
        # The norm of the first subgradient stays as it is.
        ratio = subgradient @ subgradient / (subgradient**2 @ scales)
        self.scales = ratio * scales if has_metric else np.ones(self.size)
        self.centre, self.centre_value = torch.from_numpy(start), torch.tensor(self.values[0], dtype=torch.float64)

    def first_length(self):
        """The first length at hand; the start point is 0."""
        return 0.1 * abs(self.values[0]) if self.values[0] != 0 else self.size**0.5

    def product(self, a, b):
        """The inner product of two subgradients in the stated scales."""
        return a @ (self.scales * b)

    def norm(self, a):
        return self.product(a, a) ** 0.5

    def cosine(self, a, b):
        norms = self.norm(a) * self.norm(b)
        return self.product(a, b) / norms if norms > 0 else 0.0

    def factors(self, mix):
        """The metric: stated scales times a mixture of 1 and of running factors."""
        if not self.has_metric:
            return torch.ones(self.size, dtype=torch.float64)
        squares = self.scales * (np.array(self.subgradients) ** 2).sum(0)
        with np.errstate(divide="ignore"):
            running = np.minimum(squares.sum() / np.sqrt(squares).sum() / np.sqrt(squares), 10)
        return torch.from_numpy(self.scales) * (1 - mix + mix * torch.from_numpy(running))

    def follow(self, eta, theta, centre, mix):
        """Evaluates what was proposed, moves the centre, adds the cut; returns the trial point and the value there."""
        direction = theta @ torch.from_numpy(np.array(self.subgradients))
        factors = self.factors(mix)
        trial = self.centre - eta * factors * direction
        trial = torch.relu(trial) if self.is_nonnegative else trial
        point = trial.detach().numpy()
        f, g = (self.scale * result for result in self.evaluate(point))
        # How the subgradient itself changes with the point is left out of the gradient.
        value = f + torch.from_numpy(g) @ (trial - trial.detach())

        last = SimpleNamespace(eta=eta.item(), theta=theta.detach().numpy(), value=f)
        last.centre, last.centre_value = self.centre.detach().numpy(), self.centre_value.item()
        last.direction, last.factors = direction.detach().numpy(), factors.detach().numpy()
        last.square = last.direction @ (last.factors * last.direction)
        last.way = (last.centre - point) / last.eta
        last.error = last.theta @ self.errors
        last.new_error = max(0.0, last.centre_value - f - g @ (last.centre - point))
        bent = last.way / last.factors
        last.length, last.slope = last.way @ bent, g @ last.way
        last.sigma = last.error + (last.direction - bent) @ last.centre
        self.last = last
        if centre:
            temperature, offset = centre
            share = torch.sigmoid((self.centre_value - value) / temperature + offset)
        else:
            promised = last.eta * last.length + last.sigma
            share = torch.tensor(float(f <= last.centre_value - 0.01 * promised), dtype=torch.float64)
        last.share = share.item()

        self.points.append(point)
        self.values.append(f)
        self.subgradients.append(g)
        self.centre = share * trial + (1 - share) * self.centre
        self.centre_value = share * value + (1 - share) * self.centre_value
        centre, centre_value = self.centre.detach().numpy(), self.centre_value.item()
        cuts = zip(self.points, self.values, self.subgradients)
        self.errors = np.array([max(0.0, centre_value - f - g @ (centre - x)) for x, f, g in cuts])
        if f < last.centre_value:
            self.centre_cut = len(self.points) - 1
        return trial, value


# What the network sees of a run: features, and observations of each cut.


def logarithm(x):
    return np.log(np.maximum(x, 1e-9))


def released_features(run, _):
    """Features `released-1`; nothing is observed of the cuts."""
    last = run.last or SimpleNamespace(eta=0, direction=np.zeros(run.size), error=0, square=0)
    trial, centre, square = -1, run.centre_cut, last.square
    points, subgradients = np.array(run.points), np.array(run.subgradients)
    x, g = points[trial], subgradients[trial]
    images = run.scales * subgradients
    products = points @ x, points @ points[centre], images @ subgradients[centre], images @ g
    features = [last.eta, square, last.eta * square, last.error, square > last.error, 1e4 * square > last.error]
    features += [run.values[trial], run.centre_value.item(), centre == len(points) - 1, len(points) - 1]
    features += [run.errors[centre], run.errors[trial]]
    features += [np.linalg.norm(x), np.linalg.norm(points[centre])]
    features += [run.norm(subgradients[centre]), run.norm(g)]
    features += [statistic(vector) for vector in (g, x) for statistic in (np.mean, np.std, np.min, np.max)]
    features += [extreme(product) for product in products for extreme in (np.min, np.max)]
    features += [run.product(g, last.direction), run.product(subgradients[centre], last.direction)]
    features += [run.errors[trial], run.values[trial]]
    return np.array(features, dtype=float), np.zeros((len(points), 0))


def relative_features(run, step_unit):
    """Features `relative-1`, and all observations but the last."""
    last, newest, subgradients = run.last, len(run.points) - 1, run.subgradients
    g, g_centre, mean_error = subgradients[-1], subgradients[run.centre_cut], np.mean(run.errors) + 1e-6
    # The subgradient that has this way as its direction.
    way = last.way / run.scales if last else np.zeros(run.size)
    age = newest - np.arange(newest + 1)
    weights = np.append(np.log(last.theta + 1e-6) / 4, 0) if last else np.zeros(1)
    relative_error = run.errors / mean_error
    observations = [np.log1p(age), age / 100, age == 0, age == newest - run.centre_cut, weights]
    observations += [np.log(relative_error + 0.01), np.minimum(relative_error, 5)]
    observations += [[run.cosine(cut, other) for cut in subgradients] for other in (way, g)]
    observations = np.array(observations, dtype=float).T
    if not last:
        return np.zeros(16), observations
    unit, square = last.eta * last.length, last.square
    features = [logarithm(1 + newest), logarithm(last.eta / step_unit), logarithm(square)]
    features += [logarithm(1 + last.new_error / unit), (last.centre_value - run.values[-1]) / unit]
    features += [last.sigma / unit]
    features += [run.cosine(g, way), logarithm(run.norm(g)), run.cosine(g_centre, way), run.cosine(g, g_centre)]
    features += [min(run.cosine(g, cut) for cut in subgradients), last.share]
    features += [run.centre_cut == newest, logarithm(1 + newest - run.centre_cut)]
    features += [-(last.theta * logarithm(last.theta)).sum() / np.log(1 + len(run.points))]
    features += [logarithm(mean_error / (last.eta * square))]
    return np.array(features, dtype=float), observations


def told_features(run, step_unit):
    """Features `relative-2` of a run whose number of steps is unknown."""
    features, observations = relative_features(run, step_unit)
    return np.append(features, np.zeros(3)), observations


# The network.


class Unit:
    """The unit of the step length, with its calibration."""

    def __init__(self, architecture, run):
        self.is_calibrated = architecture["step_unit"] == "start"
        length = run.first_length() if self.is_calibrated else 1.0
        self.value = (architecture["step_scale"] or 1.0) * length
        self.bound = 1.5 * length if self.is_calibrated and run.values[0] != 0 else np.inf
        self.growth, self.gained, self.compared = 0, 0, 0

    def learn(self, last):
        """Changes the unit after a step."""
        if not self.is_calibrated:
            return
        self.bound = np.inf
        decrease = last.centre_value - last.value
        self.gained += max(decrease, 0)
        is_linear = decrease >= 0.98 * (last.eta * last.length + last.sigma) and decrease >= 0.1 * self.gained
        self.growth = min(max(self.growth**2, 3), 3000) if is_linear else 0
        if self.growth > 3:
            self.value *= self.growth / 3
        elif self.compared < 2:
            self.compared += 1
            change = last.length - last.slope
            secant = last.length / change if change > 0 else np.inf
            crossing = last.new_error / (last.eta * change) if change > 0 else np.inf
            least = max(min(0.3, 2 * crossing), 1e-3)
            way = last.eta * min(max(secant, least), 3)
            self.value = min(max(self.value, way / 3), way * 3)


def sparsemax(logits):
    """The nearest point of the simplex."""
    ordered, _ = logits.sort(descending=True)
    excess = ordered.cumsum(0) - 1
    support = (torch.arange(1, len(logits) + 1) * ordered > excess).sum()
    return torch.relu(logits - excess[support - 1] / support)


ACTIVATIONS = {"softplus": functional.softplus, "relu": torch.relu, "tanh": torch.tanh}
ATTENTIONS = {"softmax": lambda logits: torch.softmax(logits, 0), "sparsemax": sparsemax}
FEATURES = {"released-1": released_features, "relative-1": relative_features, "relative-2": told_features}


class Network:
    """A network with its state and the keys of the cuts."""

    def __init__(self, architecture, weights, run):
        self.architecture, self.weights = SimpleNamespace(**architecture), weights
        self.unit = Unit(architecture, run)
        self.h = self.c = torch.zeros(weights["lstm.weight_hh_l0"].shape[1], dtype=torch.float64)
        self.keys = []

    def affine(self, name, vector):
        return self.weights[f"{name}.weight"] @ vector + self.weights[f"{name}.bias"]

    def transformed(self, features):
        kind = self.architecture.transform
        x = features if kind == "raw" else np.sign(features) * np.log1p(np.abs(features))
        x = torch.from_numpy(x)
        if kind == "standardised":
            x = ((x - self.weights["features.mean"]) / self.weights["features.deviation"]).clamp(-4, 4)
        return x

    def decoded(self, x):
        """Advances the cell; outputs of the decoders, to which the shortcut has been added."""
        hidden, weights, before = self.architecture.hidden, self.weights, torch.cat([x, self.h])
        gates = weights["lstm.weight_ih_l0"] @ x + weights["lstm.weight_hh_l0"] @ self.h + weights["lstm.bias"]
        i, f, g, o = gates.chunk(4)
        self.c = torch.sigmoid(f) * self.c + torch.sigmoid(i) * torch.tanh(g)
        self.h = torch.sigmoid(o) * torch.tanh(self.c)
        activation = ACTIVATIONS[self.architecture.activation]
        # Log-variances, if there are any, come after the three vectors and are for training.
        vectors = zip(("step", "query", "key"), self.h.split(hidden))
        step, query, key = (self.affine(f"{name}.2", activation(self.affine(f"{name}.0", v))) for name, v in vectors)
        query, coefficients = query[:hidden], query[hidden:]
        if self.architecture.shortcut:
            to_step, to_coefficients = self.affine("shortcut", before).split([len(step), len(coefficients)])
            step, coefficients = step + to_step, coefficients + to_coefficients
        return step, query, coefficients, key

    def propose(self, run):
        """Step length, weights of the cuts, temperature and offset of a soft centre, mixture of the metric."""
        architecture, unit = self.architecture, self.unit.value
        features, observations = FEATURES[architecture.features](run, unit)
        observations = torch.from_numpy(observations)
        step, query, coefficients, key = self.decoded(self.transformed(features))
        self.keys.append(key)
        eta = (unit * functional.softplus(step[0])).clamp(max=self.unit.bound)
        centre = {"softmin": (1.0, 0.0), "hard": None}.get(architecture.centre)
        if architecture.centre == "learned":
            centre = unit * functional.softplus(step[1]), step[2]
        attention = ATTENTIONS[architecture.attention]
        factor = architecture.logit_scale or architecture.hidden**-0.5
        logits = factor * torch.stack(self.keys) @ query + observations @ coefficients[: observations.shape[1]]
        theta = attention(logits)
        if architecture.features != "released-1":
            with torch.no_grad():
                subgradients = torch.from_numpy(np.array(run.subgradients))
                images = torch.from_numpy(run.scales) * (theta @ subgradients)
                slopes = 2 * eta * (subgradients @ images) + torch.from_numpy(run.errors)
                observed = (slopes / (theta @ slopes)).clamp(-5, 5)
            theta = attention(logits + coefficients[-1] * observed)
        return eta, theta, centre, torch.sigmoid(step[-1])


# The comparison.


def load(path):
    """Architecture and tensors. The two biases of the cell only ever appear as their sum."""
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["bundlenet"])
        tensors = {name: file.get_tensor(name).double() for name in file.keys()}
    assert header["version"] in VERSIONS, "another version of the format"
    tensors["lstm.bias"] = tensors.pop("lstm.bias_ih_l0") + tensors.pop("lstm.bias_hh_l0")
    return header["architecture"], tensors


def deviations(found, reference):
    """Of points, values, loss and each gradient: how far the two are apart, and how far they may be."""
    for what in ("points", "values", "loss"):
        expected = torch.tensor(reference[what], dtype=torch.float64)
        yield what, (found[what] - expected).abs().max() / expected.abs().max(), POINT_TOLERANCE
    largest = max(gradient.abs().max() for gradient in found["gradients"].values())
    for name, gradient in found["gradients"].items():
        expected = reference["gradients"][name]
        size = max(gradient.abs().max(), expected.abs().max())
        unit = size if size > NEGLIGIBLE * largest else largest
        yield f"gradient of {name}", (gradient - expected).abs().max() / unit, GRADIENT_TOLERANCE


def main(folder):
    architecture, weights = load(folder / "model.safetensors")
    reference = json.loads((folder / "rollout.json").read_text())
    _, reference["gradients"] = load(folder / "gradient.safetensors")
    instance = json.loads((folder / "instance.json").read_text())
    instance = instance.get("instance", instance)
    learned = {name: weight.requires_grad_() for name, weight in weights.items() if not name.startswith("features.")}

    function = network_design(instance) if "tail" in instance else assignment(instance)
    run = Run(function, architecture["metric"] == "scaled")
    network = Network(architecture, weights, run)
    steps, thetas = [], []
    for _ in reference["values"]:
        steps.append(run.follow(*network.propose(run)))
        network.unit.learn(run.last)
        thetas.extend(run.last.theta)
    print(f"  weights of cuts above 0: {np.count_nonzero(thetas)} of {len(thetas)}")
    points, values = (torch.stack(numbers) for numbers in zip(*steps))
    loss = values.mean()
    loss.backward()
    gradients = {name: weight.grad for name, weight in learned.items()}
    found = {"points": points, "values": values, "loss": loss, "gradients": gradients}

    all_deviations = list(deviations(found, reference))
    # Not `deviation > tolerance`, which is false for NaN.
    exceeded = [entry for entry in all_deviations if not entry[1] <= entry[2]]
    worst_gradient = max(all_deviations[3:], key=lambda entry: entry[1])
    for what, deviation, _ in [*all_deviations[:3], worst_gradient]:
        print(f"  {what}: {deviation:.1e}")
    for what, deviation, tolerance in exceeded:
        print(f"  {what}: {deviation:.1e} exceeds {tolerance:.0e}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
