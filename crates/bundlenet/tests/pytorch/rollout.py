"""Runs a checkpoint in PyTorch and compares trial points, values and gradients with those of the library.

Usage: rollout.py FOLDER, with the files that tests/pytorch_agrees.rs writes: model.safetensors, instance.json,
rollout.json, gradient.safetensors. Needs numpy, torch, safetensors. Exits with 1 if the two disagree.

Written from docs/checkpoint.md, not from the library's code, so that agreement says something about all three. Everything is
computed anew in every step and in double precision: this is meant to be read, not to be fast.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from safetensors import safe_open
from torch.nn import functional

POINT_TOLERANCE = 1e-4
GRADIENT_TOLERANCE = 1e-3


# The two functions: each gives its dimension, whether variables are nonnegative, and what evaluates it for minimising.


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

    return supply.size, False, evaluate


def assignment(instance):
    """The relaxation of generalised assignment with at most one bin for an item; a multiplier for each item."""
    profit, weight, capacity = np.array(instance["p"], dtype=float), np.array(instance["w"]), instance["c"]

    def knapsack(gain, weight, capacity):
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
        chosen = np.array([knapsack(*bin) for bin in zip(gains, weight.astype(int), np.array(capacity).astype(int))])
        return point.sum() + (gains * chosen).sum(), 1 - chosen.sum(0)

    return profit.shape[1], True, evaluate


# What the network sees. `run` is the run so far, `run.last` its last proposal (None before the first).


def logarithm(x):
    return np.log(np.maximum(x, 1e-9))


def cosine(a, b):
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return a @ b / norms if norms > 0 else 0.0


def released_features(run):
    """Features `released-1`; nothing is observed of the cuts."""
    eta, direction, aggregate = (run.last.eta, run.last.direction, run.last.error) if run.last else (0, np.zeros(run.size), 0)
    trial, centre, square = -1, run.centre_cut, direction @ direction
    points, subgradients = np.array(run.points), np.array(run.subgradients)
    x, g = points[trial], subgradients[trial]
    products = points @ x, points @ points[centre], subgradients @ subgradients[centre], subgradients @ g
    features = [eta, square, eta * square, aggregate, square > aggregate, 1e4 * square > aggregate]
    features += [run.values[trial], run.centre_value.item(), centre == len(points) - 1, len(points) - 1]
    features += [run.errors[centre], run.errors[trial]]
    features += [np.linalg.norm(x), np.linalg.norm(points[centre])]
    features += [np.linalg.norm(subgradients[centre]), np.linalg.norm(g)]
    features += [statistic(vector) for vector in (g, x) for statistic in (np.mean, np.std, np.min, np.max)]
    features += [extreme(product) for product in products for extreme in (np.min, np.max)]
    features += [g @ direction, subgradients[centre] @ direction, run.errors[trial], run.values[trial]]
    return np.array(features, dtype=float), np.zeros((len(points), 0))


def relative_features(run):
    """Features `relative-1`, and all observations but the last."""
    last, newest, subgradients = run.last, len(run.points) - 1, run.subgradients
    g, g_centre, mean_error = subgradients[-1], subgradients[run.centre_cut], np.mean(run.errors) + 1e-6
    way = last.way if last else np.zeros(run.size)
    age = newest - np.arange(newest + 1)
    weights = np.append(np.log(last.theta + 1e-6) / 4, 0) if last else np.zeros(1)
    relative_error = np.array(run.errors) / mean_error
    observations = [np.log1p(age), age / 100, age == 0, age == newest - run.centre_cut, weights]
    observations += [np.log(relative_error + 0.01), np.minimum(relative_error, 5)]
    observations += [[cosine(cut, other) for cut in subgradients] for other in (way, g)]
    observations = np.array(observations, dtype=float).T
    if not last:
        return np.zeros(16), observations
    unit, square = last.eta * way @ way, last.direction @ last.direction
    features = [logarithm(1 + newest), logarithm(last.eta / run.step_scale), logarithm(square)]
    features += [logarithm(1 + last.new_error / unit), (last.centre_value - run.values[-1]) / unit]
    features += [(last.error + (last.direction - way) @ last.centre) / unit]
    features += [cosine(g, way), logarithm(np.linalg.norm(g)), cosine(g_centre, way), cosine(g, g_centre)]
    features += [min(cosine(g, cut) for cut in subgradients), last.share]
    features += [run.centre_cut == newest, logarithm(1 + newest - run.centre_cut)]
    features += [-(last.theta * logarithm(last.theta)).sum() / np.log(1 + len(run.points))]
    features += [logarithm(mean_error / (last.eta * square))]
    return np.array(features, dtype=float), observations


# The network.


def sparsemax(logits):
    """The nearest point of the simplex."""
    ordered, _ = logits.sort(descending=True)
    count = torch.arange(1, len(logits) + 1)
    excess = ordered.cumsum(0) - 1
    support = (count * ordered > excess).sum()
    return torch.relu(logits - excess[support - 1] / support)


def decode(weights, name, activation, vector):
    between = activation(weights[f"{name}.0.weight"] @ vector + weights[f"{name}.0.bias"])
    return weights[f"{name}.2.weight"] @ between + weights[f"{name}.2.bias"]


def roll_out(architecture, weights, function, steps):
    """Trial points and scaled values, through which gradients flow back to the weights."""
    kind, hidden = SimpleNamespace(**architecture), architecture["hidden"]
    activation = {"softplus": functional.softplus, "relu": torch.relu, "tanh": torch.tanh}[kind.activation]
    attention = {"softmax": lambda logits: torch.softmax(logits, 0), "sparsemax": sparsemax}[kind.attention]
    observe = {"released-1": released_features, "relative-1": relative_features}[kind.features]
    factor = kind.logit_scale or hidden**-0.5
    size, is_nonnegative, evaluate_unscaled = function
    scale = 1 / np.linalg.norm(evaluate_unscaled(np.zeros(size))[1])

    def evaluate(point):
        value, subgradient = evaluate_unscaled(point)
        return scale * value, scale * subgradient

    centre = torch.zeros(size, dtype=torch.float64)
    value, subgradient = evaluate(centre.numpy())
    run = SimpleNamespace(size=size, step_scale=kind.step_scale, last=None, centre_cut=0)
    run.points, run.values, run.subgradients, run.errors = [centre.numpy()], [value], [subgradient], [0.0]
    run.centre_value = torch.tensor(value, dtype=torch.float64)
    h = c = torch.zeros(weights["lstm.weight_hh_l0"].shape[1], dtype=torch.float64)
    keys, trials, values = [], [], []
    for _ in range(steps):
        features, observations = observe(run)
        x = features if kind.transform == "raw" else np.sign(features) * np.log1p(np.abs(features))
        if kind.transform == "standardised":
            x = np.clip((x - weights["features.mean"].numpy()) / weights["features.deviation"].numpy(), -4, 4)
        x, observations = torch.from_numpy(x), torch.from_numpy(observations)

        gates = weights["lstm.weight_ih_l0"] @ x + weights["lstm.weight_hh_l0"] @ h + weights["lstm.bias"]
        before = torch.cat([x, h])
        i, f, g, o = gates.chunk(4)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        vectors = zip(("step", "query", "key"), h.split(hidden))
        step, query, key = (decode(weights, name, activation, vector) for name, vector in vectors)
        if kind.shortcut:
            added = weights["shortcut.weight"] @ before + weights["shortcut.bias"]
            step = step + added[: len(step)]
            query = torch.cat([query[:hidden], query[hidden:] + added[len(step) :]])
        eta = kind.step_scale * functional.softplus(step[0])
        is_learned = kind.centre == "learned"
        temperature, offset = (kind.step_scale * functional.softplus(step[1]), step[2]) if is_learned else (1, 0)

        keys.append(key)
        observed = observations.shape[1]
        logits = factor * torch.stack(keys) @ query[:hidden] + observations @ query[hidden : hidden + observed]
        theta = attention(logits)
        subgradients, errors = torch.from_numpy(np.array(run.subgradients)), torch.tensor(run.errors)
        if kind.features == "relative-1":
            with torch.no_grad():
                slopes = 2 * eta * (subgradients @ (theta @ subgradients)) + errors
                slopes = (slopes / (theta @ slopes)).clamp(-5, 5)
            theta = attention(logits + slopes * query[-1])
        direction = theta @ subgradients
        trial = centre - eta * direction
        trial = torch.relu(trial) if is_nonnegative else trial

        point = trial.detach().numpy()
        value, subgradient = evaluate(point)
        # The gradient of a piecewise linear function: how the subgradient itself moves with the point is left out.
        value_at_trial = value + torch.from_numpy(subgradient) @ (trial - trial.detach())
        share = torch.sigmoid((run.centre_value - value_at_trial) / temperature + offset)
        last = SimpleNamespace(eta=eta.item(), theta=theta.detach().numpy(), share=share.item())
        last.centre, last.centre_value = centre.detach().numpy(), run.centre_value.item()
        last.direction, last.way = direction.detach().numpy(), (last.centre - point) / last.eta
        last.error = last.theta @ np.array(run.errors)
        last.new_error = max(0.0, last.centre_value - value - subgradient @ (last.centre - point))
        run.last = last

        centre = share * trial + (1 - share) * centre
        run.centre_value = share * value_at_trial + (1 - share) * run.centre_value
        for members, member in ((run.points, point), (run.values, value), (run.subgradients, subgradient)):
            members.append(member)
        here, level = centre.detach().numpy(), run.centre_value.item()
        cuts = zip(run.points, run.values, run.subgradients)
        run.errors = [max(0.0, level - f_i - g_i @ (here - x_i)) for x_i, f_i, g_i in cuts]
        if value < level:
            run.centre_cut = len(run.points) - 1
        trials.append(trial)
        values.append(value_at_trial)
    return torch.stack(trials), torch.stack(values)


# The comparison.


def load(path):
    """Architecture and tensors. The two biases of the cell only ever appear as their sum."""
    with safe_open(path, framework="pt") as file:
        header = json.loads(file.metadata()["bundlenet"])
        tensors = {name: file.get_tensor(name).double() for name in file.keys()}
    assert header["version"] == 1, "another version of the format"
    tensors["lstm.bias"] = tensors.pop("lstm.bias_ih_l0") + tensors.pop("lstm.bias_hh_l0")
    return header["architecture"], tensors


def main(folder):
    architecture, weights = load(folder / "model.safetensors")
    _, expected_gradients = load(folder / "gradient.safetensors")
    expected = json.loads((folder / "rollout.json").read_text())
    instance = json.loads((folder / "instance.json").read_text())
    instance = instance.get("instance", instance)
    function = network_design(instance) if "tail" in instance else assignment(instance)
    trained = {name: tensor.requires_grad_() for name, tensor in weights.items() if not name.startswith("features.")}
    trials, values = roll_out(architecture, weights, function, len(expected["values"]))
    loss = values.mean()
    loss.backward()

    failures = 0

    def compare(name, found, reference, tolerance, unit=None):
        nonlocal failures
        found, reference = torch.as_tensor(found).detach(), torch.as_tensor(reference, dtype=torch.float64)
        deviation = ((found - reference).abs().max() / (unit or reference.abs().max())).item()
        is_close = deviation <= tolerance  # not the other way round: false for NaN
        failures += not is_close
        print(f"{name:28} {deviation:.1e}{'' if is_close else f'  exceeds {tolerance:.0e}'}")

    compare("points", trials, expected["points"], POINT_TOLERANCE)
    compare("values", values, expected["values"], POINT_TOLERANCE)
    compare("loss", loss, expected["loss"], POINT_TOLERANCE)
    largest = max(expected_gradients[name].abs().max() for name in trained)
    for name, weight in trained.items():
        compare(f"gradient {name}", weight.grad, expected_gradients[name], GRADIENT_TOLERANCE)
    return failures


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1])) else 0)
