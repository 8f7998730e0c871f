"""A preprocessor of mdBook: pages at the top of the repository become chapters of the site.

The site has all pages in one folder. In the repository some are at the top, the others in `docs`. So links between the
two folders lose their folder. Links to other files of the repository become plain text: the site does not have them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import PurePosixPath
from typing import Any

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
PAGES = {".md", ".svg", ".png"}


def chapters(items: list[Any]) -> list[dict[str, Any]]:
    """All chapters, with those below others. Drafts have no page."""
    found = [item["Chapter"] for item in items if isinstance(item, dict) and "Chapter" in item]
    return [chapter for top in found for chapter in [top, *chapters(top["sub_items"])] if chapter["path"]]


def on_site(text: str, is_top: bool) -> str:
    """The text with links as the site has them."""

    def link(match: re.Match[str]) -> str:
        image, label, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match.group(0)
        path, _, anchor = target.partition("#")
        folder = "docs/" if is_top else "../"
        inside = path.removeprefix(folder)
        is_page = PurePosixPath(inside).suffix in PAGES and "/" not in inside
        name = "index.md" if inside == "README.md" else inside
        return f"{image}[{label}]({name}{'#' if anchor else ''}{anchor})" if is_page else label

    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def main() -> None:
    if len(sys.argv) > 1:  # `supports RENDERER`: every renderer is
        return
    _, book = json.load(sys.stdin)
    for chapter in chapters(book.get("items") or book["sections"]):
        is_top = chapter["path"].startswith("../")
        chapter["path"] = chapter["path"].removeprefix("../")
        chapter["content"] = on_site(chapter["content"], is_top)
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
