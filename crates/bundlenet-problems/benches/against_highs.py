# /// script
# requires-python = ">=3.9"
# dependencies = ["highspy>=1.7", "numpy>=1.22"]
# ///
"""Compare `bundlenet solve` with the linear programming solver HiGHS on Lagrangian duals, on one core.

    uv run against_highs.py [--bundlenet PATH] [--proofs 1e-6,1e-8] [--arguments="--method hybrid"] INSTANCE...

or, without uv, `pip install highspy numpy` and `python against_highs.py ...`.

The dual of a network design instance has the value of its strong linear program. HiGHS solves that by interior point
without crossover, which gives the optimum. Then bundlenet proves it, once for each tolerance (`--proofs 1e-6,1e-8`): the
time is that of the whole run. The trace of the first of these runs says when it came within each gap of the optimum.
Neither time includes reading the instance or building the model. HiGHS' is the CPU time of `run()`, presolve included;
bundlenet's is the wall time in its trace, so on a busy machine the comparison errs against bundlenet.
HiGHS always solves to its own tolerance (1e-8), whatever bundlenet is asked for. Its simplex method is
faster than interior point on many small instances: look at `--solver simplex` too before claiming a ratio.
Generalised assignment is left out: its dual is over the hull of knapsacks, which is not one linear program.

Exit codes: 0 success, 1 an instance failed or its optima contradict each other, 2 wrong usage.
"""

import argparse
import json
import math
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Dict, List, Optional

import highspy
import numpy as np

GAPS = (1e-3, 1e-5)
# Two optima, or an optimum and a bound on it, that differ by more than this contradict each other.
AGREEMENT = 1e-6


class Failure(Exception):
    """What went wrong with one instance, in words for the user."""


@dataclass
class LinearProgram:
    """min cost'x subject to row_lower <= Ax <= row_upper, 0 <= x <= upper, with A by columns."""

    cost: np.ndarray
    upper: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    values: np.ndarray


@dataclass
class HighsRun:
    """The figures of HiGHS on one instance."""

    objective: float
    cpu_seconds: float
    wall_seconds: float
    iterations: int
    rows: int
    columns: int
    nonzeros: int


@dataclass
class Reached:
    """When a gap was reached first."""

    seconds: float
    steps: int


@dataclass
class Proof:
    """A run of bundlenet to a proof."""

    tolerance: float
    status: str
    certificate: Optional[float]
    seconds: float
    steps: int


@dataclass
class BundlenetRun:
    """The figures of bundlenet on one instance; a gap that was not reached has None."""

    status: str
    value: float
    steps: int
    seconds: float
    final_gap: float
    certificate: Optional[float]
    reached: Dict[str, Optional[Reached]]
    proofs: List[Proof] = field(default_factory=list)


@dataclass
class Comparison:
    """Everything about one instance; what was not run is None."""

    instance: str
    optimum: Optional[float] = None
    highs: Optional[HighsRun] = None
    bundlenet: Optional[BundlenetRun] = None
    ratio: Optional[float] = None
    notes: List[str] = field(default_factory=list)
    failed: bool = False


def command_output(command):
    """Runs a command and returns what it prints; fails with what it says on standard error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        reason = done.stderr.strip() or "no message"
        raise Failure(f"`{shlex.join(command)}` ended with code {done.returncode}: {reason}")
    return done.stdout


def read_instance(bundlenet, path):
    """The `instance` object of a file in any format that bundlenet reads."""
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / "instance.json"
        command_output([bundlenet, "convert", str(path), str(converted)])
        return json.loads(converted.read_text())["instance"]


def is_network_design(instance):
    """Whether an `instance` object is network design; the other family is generalised assignment."""
    return "tail" in instance


def strong_linear_program(instance):
    """The strong linear program of a network design instance.

    Columns: the flows x of the pairs of commodity k and arc a that are allowed, then y of each arc.
    Rows: balance of (k, node); capacity `sum_k x <= c y` of each arc; `x <= min(q, c) y` of each pair.
    """
    tail, head = (np.asarray(instance[key], dtype=np.int64) for key in ("tail", "head"))
    origin, destination = (np.asarray(instance[key], dtype=np.int64) for key in ("o", "d"))
    fixed, capacity, demand = (np.asarray(instance[key], dtype=float) for key in ("f", "c", "q"))
    routing = np.asarray(instance["r"], dtype=float)
    nodes, arcs, commodities = int(instance["N"]), len(tail), len(origin)

    k, a = np.nonzero((head[None, :] != origin[:, None]) & (tail[None, :] != destination[:, None]))
    pairs = len(k)
    flow = np.arange(pairs)
    capacity_row, strong_row = commodities * nodes, commodities * nodes + arcs
    # The flow on a loop leaves and enters the same node: no entry in the balance.
    moves = np.flatnonzero(tail[a] != head[a])

    entries = [  # (rows, columns, values)
        (k[moves] * nodes + tail[a[moves]], moves, np.ones(len(moves))),
        (k[moves] * nodes + head[a[moves]], moves, -np.ones(len(moves))),
        (capacity_row + a, flow, np.ones(pairs)),
        (strong_row + flow, flow, np.ones(pairs)),
        (capacity_row + np.arange(arcs), pairs + np.arange(arcs), -capacity),
        (strong_row + flow, pairs + a, -np.minimum(demand[k], capacity[a])),
    ]
    rows, columns, values = (np.concatenate(parts) for parts in zip(*entries))
    starts, rows, values = by_columns(rows, columns, values, pairs + arcs)

    balance = np.zeros((commodities, nodes))
    np.add.at(balance, (np.arange(commodities), origin), demand)
    np.subtract.at(balance, (np.arange(commodities), destination), demand)
    inequalities = arcs + pairs
    return LinearProgram(
        cost=np.concatenate([routing[k, a], fixed]),
        upper=np.concatenate([np.full(pairs, highspy.kHighsInf), np.ones(arcs)]),
        row_lower=np.concatenate([balance.ravel(), np.full(inequalities, -highspy.kHighsInf)]),
        row_upper=np.concatenate([balance.ravel(), np.zeros(inequalities)]),
        starts=starts,
        rows=rows,
        values=values,
    )


def by_columns(rows, columns, values, count):
    """Sorts the entries of a matrix by columns: (starts, rows, values)."""
    order = np.lexsort((rows, columns))
    starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=count))])
    return starts.astype(np.int32), rows[order].astype(np.int32), values[order]


def pass_to_highs(highs, program):
    """Hands a linear program to HiGHS."""
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(program.cost), len(program.row_lower)
    model.col_cost_ = program.cost
    model.col_lower_, model.col_upper_ = np.zeros(len(program.cost)), program.upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = program.starts, program.rows
    model.a_matrix_.value_ = program.values
    if highs.passModel(model) == highspy.HighsStatus.kError:
        raise Failure("HiGHS refuses the linear program")


def run_highs(program, solver):
    """Solves a linear program with HiGHS on one thread."""
    highs = highspy.Highs()
    options = {"output_flag": False, "threads": 1, "parallel": "off", "solver": solver, "run_crossover": "off"}
    for name, value in options.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise Failure(f"HiGHS {highs.version()} does not know the option {name} = {value}")
    pass_to_highs(highs, program)
    cpu, wall = time.process_time(), time.perf_counter()
    highs.run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    status = highs.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise Failure(f"HiGHS ends with the status `{highs.modelStatusToString(status)}`, not `Optimal`")
    info = highs.getInfo()
    return HighsRun(
        objective=info.objective_function_value,
        cpu_seconds=cpu,
        wall_seconds=wall,
        iterations=max(info.ipm_iteration_count, info.simplex_iteration_count, info.pdlp_iteration_count),
        rows=len(program.row_lower),
        columns=len(program.cost),
        nonzeros=len(program.values),
    )


def relative_gap(value, optimum):
    """|value - optimum| over |optimum|; over 1 where the optimum is 0."""
    return abs(value - optimum) / (abs(optimum) or 1.0)


def first_within(trace, optimum, gap):
    """When the best value of a trace was first within a gap of the optimum."""
    for row in trace:
        if relative_gap(row["best"], optimum) <= gap:
            return Reached(seconds=row["seconds"], steps=row["step"])
    return None


def solve(bundlenet, arguments, path, tolerance):
    """The report of bundlenet on one thread."""
    command = [bundlenet, "solve", "--json", "--quiet", "--threads", "1", "--tolerance", str(tolerance)]
    return json.loads(command_output([*command, *arguments, str(path)]))


def run_bundlenet(options, path, optimum):
    """Solves the dual with bundlenet: once for each tolerance, as often as `--repeat` says."""

    def fastest(tolerance):
        runs = [solve(options.bundlenet, options.arguments, path, tolerance) for _ in range(options.repeat)]
        return min(runs, key=lambda run: run["seconds"])

    reports = [(tolerance, fastest(tolerance)) for tolerance in options.proofs]
    report, gaps = reports[0][1], options.gaps
    proofs = [Proof(t, run["status"], run["certificate"], run["seconds"], run["steps"]) for t, run in reports]
    return BundlenetRun(
        status=report["status"],
        value=report["value"],
        steps=report["steps"],
        seconds=report["seconds"],
        final_gap=relative_gap(report["value"], optimum),
        certificate=report["certificate"],
        reached={gap_name(gap): first_within(report["trace"], optimum, gap) for gap in gaps},
        proofs=proofs,
    )


def known_optimum(optima, path):
    """The value of a file in the table of optima, under its name with or without `.gz` and `.json`."""
    name = path.name
    for ending in ("", ".gz", ".json"):
        name = name.removesuffix(ending)
        if name in optima:
            return optima[name]
    return None


def contradictions(comparison, known):
    """Notes on optima that disagree and on a dual value above the optimum of the linear program."""
    notes = []
    highs, bundlenet = comparison.highs, comparison.bundlenet
    if known is not None and relative_gap(highs.objective, known) > AGREEMENT:
        notes.append(f"HiGHS finds {highs.objective:.10g}, the table of optima says {known:.10g}")
    if bundlenet and bundlenet.final_gap > AGREEMENT and bundlenet.value > comparison.optimum:
        notes.append(f"bundlenet's {bundlenet.value:.10g} is above the optimum {comparison.optimum:.10g}")
    return notes


def fill(comparison, path, options):
    """Runs both programs on an instance and fills the comparison in."""
    if not path.is_file():
        raise Failure("no such file")
    instance = read_instance(options.bundlenet, path)
    if not is_network_design(instance):
        comparison.notes.append("generalised assignment: its dual is not one linear program; left out")
        return
    program = strong_linear_program(instance)
    runs = [run_highs(program, options.solver) for _ in range(options.repeat)]
    comparison.highs = min(runs, key=lambda run: run.cpu_seconds)
    known = known_optimum(options.optima, path)
    comparison.optimum = comparison.highs.objective if known is None else known
    if not options.highs_only:
        comparison.bundlenet = run_bundlenet(options, path, comparison.optimum)
        first = comparison.bundlenet.proofs[0]
        if first.status == "optimal" and first.seconds > 0:
            comparison.ratio = comparison.highs.cpu_seconds / first.seconds
    found = contradictions(comparison, known)
    comparison.notes += found
    comparison.failed = bool(found)


def compare(path, options):
    """The comparison on one instance; a failure becomes a note."""
    comparison = Comparison(instance=path.name)
    try:
        fill(comparison, path, options)
    except Failure as failure:
        comparison.failed = True
        comparison.notes.append(f"failed: {failure}")
    return comparison


def gap_name(gap):
    """A gap as in 1e-4."""
    mantissa, exponent = f"{gap:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def seconds_and_steps(reached):
    """A cell of the table: seconds, steps in parentheses."""
    return f"{reached.seconds:.3g} ({reached.steps})" if reached else "not reached"


def proof_cell(proof):
    """A cell of the table: seconds, steps in parentheses; the status if there is no proof."""
    time_and_steps = seconds_and_steps(Reached(proof.seconds, proof.steps))
    return time_and_steps if proof.status == "optimal" else f"{proof.status} after {time_and_steps}"


def table_head(options):
    """The two first lines of the table."""
    titles = ["instance", "optimum", "HiGHS s"]
    titles += [f"bundlenet s to {gap_name(gap)} (steps)" for gap in options.gaps]
    titles += [f"bundlenet s to a proof of {gap_name(tolerance)} (steps)" for tolerance in options.proofs]
    titles += [f"HiGHS / bundlenet, proof of {gap_name(options.proofs[0])}"]
    return [table_line(titles), table_line(["---"] + ["---:"] * (len(titles) - 1))]


def table_line(cells):
    """A line of a markdown table."""
    return "| " + " | ".join(cells) + " |"


def table_row(comparison, options):
    """The line of one instance."""
    highs, bundlenet = comparison.highs, comparison.bundlenet
    cells = [comparison.instance]
    cells += [f"{comparison.optimum:.10g}", f"{highs.cpu_seconds:.3g}"] if comparison.optimum is not None else ["", ""]
    if bundlenet:
        cells += [seconds_and_steps(bundlenet.reached[gap_name(gap)]) for gap in options.gaps]
        cells += [proof_cell(proof) for proof in bundlenet.proofs]
        cells += [f"{comparison.ratio:.3g}" if comparison.ratio else "none"]
    else:
        cells += [""] * (len(options.gaps) + len(options.proofs) + 1)
    return table_line(cells)


def write_figures(path, comparisons, options):
    """Writes the raw figures."""
    figures = {
        "highs": highspy.Highs().version(),
        "solver": options.solver,
        "arguments": options.arguments,
        "repeat": options.repeat,
        "proofs": options.proofs,
        "comparisons": [asdict(comparison) for comparison in comparisons],
    }
    path.write_text(json.dumps(figures, indent=1) + "\n")


def gap_of(text):
    """Reads a gap."""
    gap = float(text)
    if not 0 < gap < 1:
        raise argparse.ArgumentTypeError(f"expected a gap between 0 and 1, found {text}")
    return gap


def gaps_of(text):
    """Reads a list of gaps."""
    return [gap_of(part) for part in text.split(",")]


def count_of(text):
    """Reads a number of runs."""
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, found {text}")
    return count


def optima_of(text):
    """Reads a table of optima."""
    try:
        optima = json.loads(Path(text).read_text())
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"cannot read the table of optima {text}: {error}") from error
    if not isinstance(optima, dict) or not all(is_number(value) for value in optima.values()):
        raise argparse.ArgumentTypeError(f"{text}: expected an object of file names and numbers")
    return optima


def is_number(value):
    """Whether a JSON value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def parse_options():
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description="Compare `bundlenet solve` with HiGHS on the Lagrangian duals of network design, on one core."
    )
    parser.add_argument("instances", nargs="+", type=Path, metavar="INSTANCE", help="any format that bundlenet reads")
    parser.add_argument("--bundlenet", default="bundlenet", metavar="PATH", help="the program [default: on the PATH]")
    parser.add_argument(
        "--proofs", type=gaps_of, default=[1e-6, 1e-8], metavar="X,...", help="tolerances to prove [default: 1e-6,1e-8]"
    )
    parser.add_argument(
        "--arguments", type=shlex.split, default=[], help='more for `bundlenet solve`: --arguments="--method hybrid"'
    )
    parser.add_argument("--optima", type=optima_of, default={}, metavar="FILE", help="JSON: file name -> optimum")
    parser.add_argument("--solver", default="ipm", help="HiGHS' solver: ipm, simplex, pdlp, ... [default: ipm]")
    parser.add_argument("--repeat", type=count_of, default=1, metavar="N", help="runs of each; the fastest counts")
    parser.add_argument("--highs-only", action="store_true", help="do not run `bundlenet solve`")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the raw figures")
    options = parser.parse_args()
    options.gaps = GAPS
    found = shutil.which(options.bundlenet)
    if found is None:
        parser.error(f"--bundlenet: no program {options.bundlenet}")
    options.bundlenet = found
    return options


def main():
    """Compares on every instance, printing each line of the table when it is there."""
    options = parse_options()
    print("\n".join(table_head(options)), flush=True)
    comparisons = []
    for path in options.instances:
        comparison = compare(path, options)
        comparisons.append(comparison)
        print(table_row(comparison, options), flush=True)
    notes = [f"- {comparison.instance}: {note}" for comparison in comparisons for note in comparison.notes]
    if notes:
        print("\n" + "\n".join(notes))
    if options.json:
        try:
            write_figures(options.json, comparisons, options)
        except OSError as error:
            sys.exit(f"cannot write {options.json}: {error.strerror}")
    return 1 if any(comparison.failed for comparison in comparisons) else 0


if __name__ == "__main__":
    sys.exit(main())
