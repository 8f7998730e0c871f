"""Model files with blocks: solved by a package with the feature mip, refused by one without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bundlenet
import pytest

LP = """Maximize
 obj: 3 x1 + 2 x2 + 4 y1 + y2
Subject To
 link_1: x1 + y1 <= 1
 link_2: x2 + y2 >= 1
 cap_1: 2 x1 + 3 x2 <= 4
 cap_2: 2 y1 + 3 y2 <= 4
Binary
 x1 x2 y1 y2
End
"""


MPS = """*SENSE:Maximize
NAME pairs
ROWS
 N obj
 L demand_1
 G demand_2
 L cap_1
 L cap_2
COLUMNS
 M1 'MARKER' 'INTORG'
 x1 obj 3 demand_1 1
 x1 cap_1 2
 x2 obj 2 demand_2 1
 x2 cap_1 3
 y1 obj 4 demand_1 1
 y1 cap_2 2
 y2 obj 1 demand_2 1
 y2 cap_2 3
 M2 'MARKER' 'INTEND'
RHS
 RHS demand_1 1 demand_2 1
 RHS cap_1 4 cap_2 4
BOUNDS
 BV BND x1
 BV BND x2
 BV BND y1
 BV BND y2
ENDATA
"""
DEC = "NBLOCKS\n2\nBLOCK 1\ncap_1\nBLOCK 2\ncap_2\nMASTERCONSS\nlink_1\nlink_2\n"
CORE = """NAME T
ROWS
 N obj
 L land
 G need
COLUMNS
 M1 'MARKER' 'INTORG'
 x obj 3 land 1
 x need 2
 M2 'MARKER' 'INTEND'
 y obj 5 need 1
RHS
 RHS land 4 need 3
BOUNDS
 UP BND x 4
 UP BND y 9
ENDATA
"""
TIME = "TIME T\nPERIODS IMPLICIT\n x obj ONE\n y need TWO\nENDATA\n"
SCENARIOS = "STOCH T\nSCENARIOS DISCRETE\n SC A ROOT 0.25 TWO\n RHS need 1\n SC B ROOT 0.75 TWO\n RHS need 6\nENDATA\n"


def has_mip() -> bool:
    try:
        bundlenet.Blocks.read("absent.lp", relax="link")
    except ImportError:
        return False
    except OSError:
        return True
    raise AssertionError("an absent file was read")


def test_a_package_without_highs_says_so() -> None:
    if has_mip():
        pytest.skip("the package has the feature mip")
    with pytest.raises(ImportError, match="feature mip"):
        bundlenet.Blocks.read("model.mps")


needs_mip = pytest.mark.skipif(not has_mip(), reason="needs the feature mip")


@needs_mip
def test_a_model_has_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "model.lp"
    path.write_text(LP)
    blocks = bundlenet.Blocks.read(path, relax="^link")
    assert blocks.rows == ["link_1", "link_2"]
    assert [kind for kind, *_ in blocks.blocks_found] == ["knapsack", "knapsack"]
    result = blocks.solve()
    assert abs(result.fun - 6) < 1e-5
    assert result.lp_bound is not None and result.lp_bound > 6 - 1e-6
    assert set(result.multipliers) == {"link_1", "link_2"}
    assert result.columns is not None and result.columns["y1"] > 0.5
    with pytest.raises(ValueError, match="none that matches"):
        bundlenet.Blocks.read(path, relax="absent")


@needs_mip
def test_structures_come_from_files_or_are_found(tmp_path: Path) -> None:
    path, dec = tmp_path / "model.lp", tmp_path / "model.dec"
    path.write_text(LP)
    dec.write_text(DEC)
    for blocks in (bundlenet.Blocks.read(path, dec=dec), bundlenet.Blocks.read(path, relax="auto")):
        assert blocks.rows == ["link_1", "link_2"]
        assert abs(blocks.solve(steps=50).fun - 6) < 1e-5
    with pytest.raises(ValueError, match="either dec or relax"):
        bundlenet.Blocks.read(path)
    dec.write_text(DEC.replace("cap_2", "cap_9"))
    with pytest.raises(ValueError, match="line 6: expected the name of a row of the model, found \"cap_9\""):
        bundlenet.Blocks.read(path, dec=dec)


@needs_mip
def test_a_stochastic_program_has_two_sides(tmp_path: Path) -> None:
    for suffix, text in (("cor", CORE), ("tim", TIME), ("sto", SCENARIOS)):
        (tmp_path / f"t.{suffix}").write_text(text)
    result = bundlenet.Blocks.read(tmp_path / "t.cor").solve(time_limit=60)
    assert result.feasible_value is not None and result.lp_bound is not None
    # HiGHS solves the scenarios: the bound loses the stated tolerance, 1e-6 times the scale of each.
    assert result.lp_bound - 1e-5 <= result.fun <= result.feasible_value + 1e-6
    assert result.feasible_value - result.fun < 1e-4
    assert result.first_stage is not None and set(result.first_stage) == {"x"}


@needs_mip
def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.mps").write_text(MPS)
    page = Path(__file__).parents[2] / "docs" / "blocks.md"
    space: dict[str, Any] = {}
    for block in page.read_text().split("```python\n")[1:]:
        exec(block.split("```")[0], space)
    # PuLP writes the sense as a comment.
    assert abs(space["result"].fun - 6) < 1e-5
