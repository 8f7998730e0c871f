"""Every example runs as it stands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import matplotlib
import nbformat
import pytest
from nbclient import NotebookClient

import bundlenet

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", path], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_readme_runs(tmp_path: Path) -> None:
    text = (EXAMPLES.parents[1] / "README.md").read_text()
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    assert blocks
    for block in blocks:
        subprocess.run([sys.executable, "-c", block], check=True, timeout=60, cwd=tmp_path)


def test_the_page_of_oracles_runs() -> None:
    text = (EXAMPLES.parents[1] / "docs" / "oracle.md").read_text()
    space: dict[str, object] = {}
    for index, block in enumerate(text.split("```python\n")[1:]):
        exec(compile(block.split("```")[0], f"block {index}", "exec"), space)


# Jupyter's own warnings are not faults of ours.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)


def test_plots_have_a_line_for_each_run() -> None:
    matplotlib.use("Agg")
    import bundlenet.plot

    problem = bundlenet.GeneralizedAssignment.generate("ga-10-100", 1)
    runs = {method: problem.solve(method=method, steps=10) for method in ("bundle", "adam")}
    axes = bundlenet.plot.convergence(runs, optimum=runs["bundle"].fun)
    assert len(axes.lines) == 2 and axes.get_yscale() == "log" and axes.get_legend() is not None
    alone = bundlenet.plot.convergence(runs["adam"], over="seconds")
    assert len(alone.lines) == 1 and alone.get_xlabel() == "seconds" and alone.get_legend() is None


def test_the_package_does_without_matplotlib(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import bundlenet\n"
        "print(bundlenet.GeneralizedAssignment.generate('ga-10-100', 1).solve().status)\n"
        "import bundlenet.plot"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.stdout == "optimal\n" and "pip install 'bundlenet[plot]'" in done.stderr
