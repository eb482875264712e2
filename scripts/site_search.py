"""A hook of MkDocs: the index of the search as a script, which pages that were opened from disk may load."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_post_build(config: Any, **_: Any) -> None:
    """Writes what the theme loads where a page comes from disk."""
    folder = Path(config["site_dir"]) / "search"
    index = (folder / "search_index.json").read_text("utf-8")
    (folder / "search_index.js").write_text(f"var __index = {index};\n", "utf-8")
