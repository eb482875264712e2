"""A MkDocs hook: the search index as a script, for pages opened from disk, descriptions of pages from `llms.txt`, and
the rank of pages in the search: pages about tasks come before pages about the project."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

# factors of the score, by the beginning of a page's path
_BOOSTS = {
    "decisions/": 0.01,
    "architecture": 0.05,
    "testing.md": 0.05,
    "release": 0.05,
    "performance": 0.1,
    "reference/": 0.2,
    "types": 0.3,
    "glossary": 0.3,
    "other-words": 0.5,
}


def on_page_markdown(_markdown: str, page: Any, config: Any, **_: Any) -> None:
    """Describes a page without a `description` by its line in `llms.txt`, and sets its factor in the search."""
    for path, boost in _BOOSTS.items():
        if page.file.src_uri.startswith(path):
            page.meta.setdefault("search", {"boost": boost})
    lines = (Path(config["docs_dir"]) / "llms.txt").read_text("utf-8")
    described = re.search(rf"^- \[([^]]*)\]\({re.escape(page.file.src_uri)}\): (.+)$", lines, re.MULTILINE)
    if described:
        page.meta.setdefault("description", f"{described[1]}: {described[2]}.")


def on_post_build(config: Any, **_: Any) -> None:
    """Writes `search_index.js`, which the theme loads for pages from disk, and rewrites the links of `llms.txt`."""
    site = Path(config["site_dir"])
    index = (site / "search" / "search_index.json").read_text("utf-8")
    (site / "search" / "search_index.js").write_text(f"var __index = {index};\n", "utf-8")
    pages = site / "llms.txt"
    pages.write_text(pages.read_text("utf-8").replace(".md)", ".html)"), "utf-8")
