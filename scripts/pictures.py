"""The pictures in docs/pictures: pages about a table that is made here, as Debian's Chromium shows them.

.venv/bin/python scripts/pictures.py        needs `apt-get install chromium` and `pip install playwright`

`made-of.json` beside the pictures has a hash of each page. tests/test_pictures.py makes the pages again, and fails if
they are others now.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Literal

import lance_sql

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
CUSTOMERS = ("Ada Ltd", "Borgo SpA", "Cerva SA", "Dorn GmbH", "Elm Inc")
STATES = ("open", "paid", "shipped", "cancelled")
WIDTH, HEIGHT = 1000, 640
HASHES = PICTURES / "made-of.json"
CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?|[0-9a-f]{32}|[\d.,]+ (ms|s|B|KiB)\b"
    r"|lance-sql \d[\w.+]*|[\w.-]+@[\w.-]+"
)
"""Times, names of files, sizes, the writer and the user."""


def rows(start: int, count: int, chance: random.Random) -> dict[str, list[object]]:
    return {
        "id": list(range(start, start + count)),
        "customer": [chance.choice(CUSTOMERS) for _ in range(count)],
        "status": [chance.choice(STATES) for _ in range(count)],
        "amount": [round(chance.uniform(5, 900), 2) for _ in range(count)],
    }


def make_table(path: Path) -> lance_sql.Dataset:
    """Sixteen versions of orders."""
    chance = random.Random(7)
    table = lance_sql.write(rows(0, 900, chance), path)
    known = 900
    for step in range(12):
        match step % 4:
            case 0 | 2:
                count = chance.randint(60, 420)
                table = lance_sql.write(rows(known, count, chance), path, mode="append")
                known += count
            case 1:
                table = table.update({"status": "'shipped'"}, f"id % {chance.randint(5, 12)} = 3 AND status = 'paid'")
            case _:
                table = table.delete(f"status = 'cancelled' AND id % {chance.randint(2, 4)} = 1")
    table.tags.create("audited", 9)
    table.branches.create("experiment")
    changed = {"id": [4, 8, 15], "status": ["paid"] * 3, "amount": [16.0, 23.0, 42.0]}
    new = rows(known, 3, chance)
    return table.merge(changed, on="id").merge(new, on="id").delete("id IN (1, 2)")


def make_search(folder: Path) -> str:
    """Results of a full-text search among four articles."""
    texts = (
        "Foxes are quick: a quick brown fox jumps over lazy dogs, again and again.",
        "Slow rivers run deep through a valley of stones, and nobody is quick there.",
        "The fox den lies by the river, below the old bridge.",
        "Dogs and cats, and what they make of each other.",
    )
    rows = {"id": [1, 2, 3, 4], "author": list(CUSTOMERS[:4]), "body": list(texts)}
    table = lance_sql.write(rows, folder / "articles.lance").indices.create("body", "inverted")
    return table.search(text="quick foxes", text_column="body").to_html()


def make_pages(folder: Path) -> dict[str, str]:
    path = folder / "orders.lance"
    table = make_table(path)
    made = {
        # the table of README.md
        "diff": lance_sql.diff(ROOT / "examples" / "orders.lance", 5, 6).to_html(),
        "changes": lance_sql.open(ROOT / "examples" / "orders.lance").changes(2, 9).to_html(),
        "history": table.history().to_html(),
        "layout": table.maintenance.layout().to_html(),
        "search": make_search(folder),
    }
    newest = max((path / "data").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    content = newest.read_bytes()
    newest.write_bytes(content[: len(content) // 2] + b"\xff" * (len(content) // 4))
    return made | {"verify": lance_sql.verify(path).to_html()}


def hashes(folder: Path, pages: dict[str, str]) -> dict[str, str]:
    """Returns a hash of each page, without its values that change with the machine and the hour."""
    kept = {
        name: CHANGING.sub("", html.replace(f"{folder}/", "").replace(f"{ROOT}/", "")) for name, html in pages.items()
    }
    return {name: hashlib.sha256(html.encode()).hexdigest() for name, html in kept.items()}


def main() -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("There is no browser: apt-get install chromium")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pages = make_pages(Path(folder))
        HASHES.write_text(json.dumps(hashes(Path(folder), pages), indent=2) + "\n")
        for name, html in pages.items():
            # paths of this machine are useless elsewhere
            html = html.replace(f"{folder}/", "").replace(f"{ROOT}/", "")
            sizes: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", WIDTH), ("dark", 375))
            for scheme, width in sizes if name in ("diff", "history", "search") else sizes[:1]:
                context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
                page = context.new_page()
                page.set_content(html)
                page.screenshot(path=PICTURES / f"{name}{'-phone' if width < WIDTH else ''}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
