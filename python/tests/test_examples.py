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


DOCS = EXAMPLES.parents[1] / "docs"


def blocks(page: Path) -> list[str]:
    return [block.split("```")[0] for block in page.read_text().split("```python\n")[1:]]


# Pages whose code needs more than this package: `blocks` HiGHS (test_blocks.py), `pytorch` PyTorch (pytorch_agrees.rs).
NEEDS_MORE = {"blocks", "pytorch"}
PAGES = [page for page in sorted(DOCS.glob("*.md")) if blocks(page)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_pages_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A page about the package may use an instance of any family.
    space: dict[str, object] = {"problem": bundlenet.GeneralizedAssignment.generate("ga-10-100", 1)}
    for index, block in enumerate(blocks(page)):
        code = compile(block, f"{page.name}, block {index}", "exec")
        if page.stem not in NEEDS_MORE:
            exec(code, space)


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
