"""Compares the best schedules of real units with HiGHS on the integer program of the reference models.

    pip install ./python highspy
    python testing/scripts/units_against_highs.py DATA --count 80

DATA is a folder with the files named below. Each file is checked at random prices for `count` random units.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import highspy
import numpy as np

import bundlenet

FILES = [
    ("chp", "ca/2014-09-01_reserves_0"),
    ("chp", "belgian/belgian-autumnwd"),
    ("pglib", "ca/2014-09-01_reserves_3"),
    ("pglib", "ferc/2015-01-01_hw"),
    ("pglib", "rts_gmlc/2020-01-27"),
]


class Program:
    """An integer program, built variable by variable and row by row."""

    def __init__(self) -> None:
        self.highs = highspy.Highs()
        options = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-9, "time_limit": 120.0}
        tolerances = ["primal_feasibility_tolerance", "dual_feasibility_tolerance", "mip_feasibility_tolerance"]
        for name, value in [*options.items(), *((name, 1e-9) for name in tolerances)]:
            self.highs.setOptionValue(name, value)
        self.count = 0

    def variable(self, low: float, high: float, cost: float = 0.0, whole: bool = False) -> int:
        self.highs.addVar(low, high)
        self.highs.changeColCost(self.count, cost)
        if whole:
            self.highs.changeColIntegrality(self.count, highspy.HighsVarType.kInteger)
        self.count += 1
        return self.count - 1

    def row(self, terms: list[tuple[int, float]], low: float, high: float) -> None:
        sums: dict[int, float] = {}
        for variable, factor in terms:
            sums[variable] = sums.get(variable, 0.0) + factor
        sums = {variable: factor for variable, factor in sums.items() if factor != 0}
        index, factors = np.array(list(sums), dtype=np.int32), np.array(list(sums.values()))
        self.highs.addRow(low, high, len(sums), index, factors)

    def at_most(self, terms: list[tuple[int, float]], high: float) -> None:
        self.row(terms, -highspy.kHighsInf, high)

    def value(self) -> float | None:
        self.highs.run()
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return float(self.highs.getInfo().objective_function_value)


def chp(unit: dict[str, Any], energy: Any) -> float | None:
    """Least cost minus income in the model of ConvexHullPricing.jl, with the periods 0 to T + 1."""
    program, last, infinity = Program(), len(energy) + 1, highspy.kHighsInf
    least, most = unit["power_output_minimum"], unit["power_output_maximum"]
    up, down = unit["time_up_minimum"], unit["time_down_minimum"]
    startup, shutdown = unit.get("ramp_startup_limit", least), unit.get("ramp_shutdown_limit", least)
    no_load, start_cost = unit.get("no_load_consumption", down), unit["startup"][0]["cost"]
    marginal = unit["piecewise_production"][0]["cost"]
    p, u, v, w = [], [], [], []
    for t in range(last + 1):
        paid = 1.0 if 1 <= t < last else 0.0
        p.append(program.variable(0, infinity, marginal - energy[t - 1] if paid else 0.0))
        u.append(program.variable(0, 1, paid * no_load, True))
        v.append(program.variable(0, 1, paid * start_cost, True))
        w.append(program.variable(0, 1, 0.0, True))
    for t in range(last + 1):
        program.row([(p[t], 1), (u[t], -least)], 0, infinity)
        program.at_most([(p[t], 1), (u[t], -most)], 0)
        if t >= 1:
            program.row([(u[t], 1), (u[t - 1], -1), (v[t], -1), (w[t], 1)], 0, 0)
            program.at_most([(p[t], 1), (p[t - 1], -1), (u[t - 1], -unit["ramp_up_limit"]), (v[t], -startup)], 0)
            program.at_most([(p[t - 1], 1), (p[t], -1), (u[t], -unit["ramp_down_limit"]), (w[t], -shutdown)], 0)
        if t >= up:
            program.at_most([*((v[i], 1) for i in range(t - up + 1, t + 1)), (u[t], -1)], 0)
        if t >= down:
            program.at_most([*((w[i], 1) for i in range(t - down + 1, t + 1)), (u[t], 1)], 1)
    return program.value()


def pglib(unit: dict[str, Any], energy: Any, reserve: Any) -> float | None:
    """Least cost minus income in the reference model of pglib-uc, with the periods 1 to T."""
    program, last, infinity = Program(), len(energy), highspy.kHighsInf
    least, most = unit["power_output_minimum"], unit["power_output_maximum"]
    span, rise, fall = most - least, unit["ramp_up_limit"], unit["ramp_down_limit"]
    late = max(most - unit["ramp_startup_limit"], 0), max(most - unit["ramp_shutdown_limit"], 0)
    points, starts, on = unit["piecewise_production"], unit["startup"], unit["unit_on_t0"]
    before = on * (unit["power_output_t0"] - least)
    periods = range(1, last + 1)
    base = points[0]["cost"]
    c = {t: program.variable(-infinity, infinity, 1.0) for t in periods}
    p = {t: program.variable(0, infinity, -energy[t - 1]) for t in periods}
    r = {t: program.variable(0, infinity, -reserve[t - 1]) for t in periods}
    u = {t: program.variable(unit["must_run"], 1, base - energy[t - 1] * least, True) for t in periods}
    v = {t: program.variable(0, 1, 0.0, True) for t in periods}
    w = {t: program.variable(0, 1, 0.0, True) for t in periods}
    d = {(s, t): program.variable(0, 1, start["cost"], True) for s, start in enumerate(starts) for t in periods}
    shares = {(k, t): program.variable(0, 1) for k in range(len(points)) for t in periods}
    stay = unit["time_up_minimum"] - unit["time_up_t0"] if on else unit["time_down_minimum"] - unit["time_down_t0"]
    for t in range(1, min(stay, last) + 1):
        program.row([(u[t], 1)], on, on)
    for s, start in enumerate(starts[1:]):
        for t in range(max(1, start["lag"] - unit["time_down_t0"] + 1), min(start["lag"] - 1, last) + 1):
            program.row([(d[s, t], 1)], 0, 0)
    program.row([(u[1], 1), (v[1], -1), (w[1], 1)], on, on)
    program.at_most([(p[1], 1), (r[1], 1)], rise + before)
    program.at_most([(p[1], -1)], fall - before)
    program.at_most([(w[1], late[1])], on * span - before)
    up, down = min(unit["time_up_minimum"], last), min(unit["time_down_minimum"], last)
    for t in periods:
        if t > 1:
            program.row([(u[t], 1), (u[t - 1], -1), (v[t], -1), (w[t], 1)], 0, 0)
            program.at_most([(p[t], 1), (r[t], 1), (p[t - 1], -1)], rise)
            program.at_most([(p[t - 1], 1), (p[t], -1)], fall)
        if t >= up:
            program.at_most([*((v[i], 1) for i in range(t - up + 1, t + 1)), (u[t], -1)], 0)
        if t >= down:
            program.at_most([*((w[i], 1) for i in range(t - down + 1, t + 1)), (u[t], 1)], 1)
        program.row([(v[t], 1), *((d[s, t], -1) for s in range(len(starts)))], 0, 0)
        program.at_most([(p[t], 1), (r[t], 1), (u[t], -span), (v[t], late[0])], 0)
        if t < last:
            program.at_most([(p[t], 1), (r[t], 1), (u[t], -span), (w[t + 1], late[1])], 0)
        each = list(enumerate(points))
        program.row([(p[t], 1), *((shares[k, t], points[0]["mw"] - point["mw"]) for k, point in each)], 0, 0)
        program.row([(c[t], 1), *((shares[k, t], base - point["cost"]) for k, point in each)], 0, 0)
        program.row([(u[t], 1), *((shares[k, t], -1) for k, _ in each)], 0, 0)
        for s, start in enumerate(starts[1:]):
            if t >= start["lag"]:
                stops = [(w[t - i], -1) for i in range(starts[s]["lag"], start["lag"])]
                program.at_most([(d[s, t], 1), *stops], 0)
    return program.value()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    for formulation, name in FILES:
        path = arguments.data / f"{name}.json.gz"
        problem = bundlenet.UnitCommitment.read(path, formulation=formulation)
        with gzip.open(path) as file:
            units = json.load(file)["thermal_generators"]
        periods, worst, solved = problem.periods, 0.0, 0
        for index in random.integers(len(problem.units), size=arguments.count):
            unit = units[problem.units[index]]
            point = unit["piecewise_production"][-1]
            level = 1.05 * point["cost"] if formulation == "chp" else point["cost"] / max(point["mw"], 1)
            turns = np.arange(periods) / periods * random.integers(1, 4) + random.random()
            wave = 1 + 0.6 * np.sin(2 * np.pi * turns)
            energy = level * (wave + random.choice([0.02, 0.2, 0.8]) * random.standard_normal(periods))
            reserve = np.maximum(0, random.standard_normal(periods)) * level * 0.2 * (random.random() < 0.75)
            if formulation == "chp":
                expected, answer = chp(unit, energy), problem.best_response(int(index), energy)
            else:
                expected, answer = pglib(unit, energy, reserve), problem.best_response(int(index), energy, reserve)
            if expected is None:
                continue
            solved += 1
            worst = max(worst, abs(expected + answer["profit"]) / max(1.0, abs(expected)))
        print(f"{formulation} {name}: {solved} of {arguments.count} units, largest relative difference {worst:.1e}")


if __name__ == "__main__":
    main()
