"""Model files with blocks: solved by a package with the feature mip, refused by one without it."""

from __future__ import annotations

from pathlib import Path

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


def test_a_model_has_a_bound(tmp_path: Path) -> None:
    if not has_mip():
        pytest.skip("needs the feature mip")
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
