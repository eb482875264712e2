"""A MkDocs hook: the search index as a script, for pages opened from disk, and llms.txt with links to built pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_post_build(config: Any, **_: Any) -> None:
    """Writes `search_index.js`, which the theme loads for pages from disk, and rewrites the links of `llms.txt`."""
    site = Path(config["site_dir"])
    index = (site / "search" / "search_index.json").read_text("utf-8")
    (site / "search" / "search_index.js").write_text(f"var __index = {index};\n", "utf-8")
    pages = site / "llms.txt"
    pages.write_text(pages.read_text("utf-8").replace(".md)", ".html)"), "utf-8")
