"""Model files with blocks: assignment, bin packing, cutting stock, capacitated p-median, server location.

Each function writes a small model of its kind, as a modelling language would. The bound of the blocks is printed beside
that of the linear relaxation. It needs a package with the feature mip; without it the files are only written.

    python model_files.py [FOLDER]
"""

import random
import sys
from pathlib import Path

import bundlenet

random.seed(20)


def terms(numbers: dict[str, int]) -> str:
    """A linear expression with a term in each line: lines of model files should be short."""
    return "\n  ".join(f"+ {number} {name}" for name, number in numbers.items())


def write(path: Path, sense: str, costs: dict[str, int], rows: dict[str, str], names: str) -> Path:
    """Writes a model with 0/1 columns, or with general ones after the word General."""
    constraints = "\n ".join(f"{name}: {row}" for name, row in rows.items())
    kind = "" if names.startswith("General") else "Binary\n "
    path.write_text(f"{sense}\n cost: {terms(costs)}\nSubject To\n {constraints}\n{kind}{names}\nEnd\n")
    return path


def assignment(path: Path, agents: int = 5, jobs: int = 30) -> Path:
    """Each job goes to one agent at most; each agent is a knapsack."""
    pairs = [(i, j) for i in range(agents) for j in range(jobs)]
    weights = {(i, j): random.randint(5, 25) for i, j in pairs}
    capacity = 15 * jobs // agents * 8 // 10
    rows = {f"job_{j}": terms({f"x_{i}_{j}": 1 for i in range(agents)}) + " <= 1" for j in range(jobs)}
    for i in range(agents):
        rows[f"capacity_{i}"] = terms({f"x_{i}_{j}": weights[i, j] for j in range(jobs)}) + f" <= {capacity}"
    profits = {f"x_{i}_{j}": random.randint(10, 50) for i, j in pairs}
    return write(path, "Maximize", profits, rows, " ".join(profits))


def bin_packing(path: Path, items: int = 24, size: int = 100) -> Path:
    """Each item goes to a bin. Bins are identical, so one of them is solved."""
    bins = range(items)
    sizes = [random.randint(30, 70) for _ in range(items)]
    rows = {f"item_{i}": terms({f"x_{b}_{i}": 1 for b in bins}) + " = 1" for i in range(items)}
    for b in bins:
        rows[f"bin_{b}"] = terms({f"x_{b}_{i}": sizes[i] for i in range(items)}) + f" - {size} y_{b} <= 0"
    costs = {f"y_{b}": 1 for b in bins}
    return write(path, "Minimize", costs, rows, " ".join([*costs, *(f"x_{b}_{i}" for b in bins for i in range(items))]))


def cutting_stock(path: Path, widths: tuple[int, ...] = (9, 13, 17, 28, 36, 44), roll: int = 100) -> Path:
    """Rolls are cut into pieces; each roll is a knapsack with whole numbers."""
    demands = [random.randint(3, 9) for _ in widths]
    rolls = range(sum(demands) // 2)
    pieces = [f"x_{r}_{w}" for r in rolls for w in range(len(widths))]
    rows = {
        f"demand_{w}": terms({f"x_{r}_{w}": 1 for r in rolls}) + f" >= {demand}" for w, demand in enumerate(demands)
    }
    for r in rolls:
        rows[f"roll_{r}"] = terms({f"x_{r}_{w}": width for w, width in enumerate(widths)}) + f" - {roll} y_{r} <= 0"
    costs = {f"y_{r}": 1 for r in rolls}
    return write(path, "Minimize", costs, rows, f"General\n {' '.join(pieces)}\nBinary\n {' '.join(costs)}")


def p_median(path: Path, places: int = 20, open_places: int = 5) -> Path:
    """Customers go to open places with a capacity. The .blk file beside the model lists the columns of each place."""
    points = [(random.randint(0, 99), random.randint(0, 99)) for _ in range(places)]
    demands = [random.randint(1, 20) for _ in points]
    capacity = 12 * sum(demands) // (10 * open_places)
    place = range(places)
    costs = {
        f"x_{i}_{j}": abs(points[i][0] - points[j][0]) + abs(points[i][1] - points[j][1]) for i in place for j in place
    }
    rows = {f"customer_{j}": terms({f"x_{i}_{j}": 1 for i in place}) + " = 1" for j in place}
    rows["open"] = terms({f"y_{i}": 1 for i in place}) + f" = {open_places}"
    for i in place:
        rows[f"place_{i}"] = terms({f"x_{i}_{j}": demands[j] for j in place}) + f" - {capacity} y_{i} <= 0"
    blocks = [f"Block {i + 1}\n " + "\n ".join([f"y_{i}", *(f"x_{i}_{j}" for j in place)]) for i in place]
    path.with_suffix(".blk").write_text("\n".join(["Presolved\n0\nNBlocks", str(places), *blocks]) + "\n")
    return write(path, "Minimize", costs, rows, " ".join([*costs, *(f"y_{i}" for i in place)]))


def server_location(path: Path, servers: int = 4, clients: int = 8, scenarios: int = 12) -> Path:
    """Servers are placed first; then each client that turns up needs one. SMPS: a .cor, a .tim and a .sto file."""
    core = ["NAME servers", "ROWS", " N cost", " L number"]
    core += [f" L server_{s}" for s in range(servers)] + [f" E client_{c}" for c in range(clients)]
    core += ["COLUMNS", " M1 'MARKER' 'INTORG'"]
    for s in range(servers):
        core += [f" y_{s} cost {random.randint(40, 80)} number 1", f" y_{s} server_{s} -60"]
    for s in range(servers):
        for c in range(clients):
            demand = random.randint(5, 25)
            core += [f" x_{s}_{c} cost {-demand} server_{s} {demand}", f" x_{s}_{c} client_{c} 1"]
    core += [" M2 'MARKER' 'INTEND'"]
    core += [f" late_{s} cost 1000 server_{s} -1" for s in range(servers)]
    core += ["RHS", f" RHS number {servers - 1}", *(f" RHS client_{c} 1" for c in range(clients)), "BOUNDS"]
    core += [f" UP BND y_{s} 1" for s in range(servers)]
    core += [f" UP BND x_{s}_{c} 1" for s in range(servers) for c in range(clients)]
    stages = ["TIME servers", "PERIODS IMPLICIT", " y_0 number FIRST", " x_0_0 server_0 SECOND"]
    chance = ["STOCH servers", "SCENARIOS DISCRETE"]
    for scenario in range(scenarios):
        chance += [f" SC S{scenario} ROOT {1 / scenarios:.12f} SECOND"]
        chance += [f" RHS client_{c} {random.randint(0, 1)}" for c in range(clients)]
    for suffix, lines in ((".cor", core), (".tim", stages), (".sto", chance)):
        path.with_suffix(suffix).write_text("\n".join([*lines, "ENDATA"]) + "\n")
    return path.with_suffix(".cor")


folder = Path(sys.argv[1] if len(sys.argv) > 1 else "models")
folder.mkdir(exist_ok=True)
models: list[tuple[Path, Path | None, str | None]] = [
    (assignment(folder / "assignment.lp"), None, "^job"),
    (bin_packing(folder / "bin_packing.lp"), None, "^item"),
    (cutting_stock(folder / "cutting_stock.lp"), None, "^demand"),
    (p_median(folder / "p_median.lp"), folder / "p_median.blk", None),
    (server_location(folder / "server_location"), None, None),
]
for model, dec, relax in models:
    try:
        result = bundlenet.Blocks.read(model, dec=dec, relax=relax).solve()
    except ImportError as error:
        print(f"{model} is written. {error}")
        continue
    feasible = f", feasible {result.feasible_value:.3f}" if "feasible_value" in result else ""
    print(f"{model}: LP bound {result.lp_bound:.3f}, bound {result.fun:.3f}{feasible}, {result.nfev} calls")
