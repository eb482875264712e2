"""Pages of every kind about tables whose names and values try to be more than text."""

from __future__ import annotations

from pathlib import Path

import lance_sql
from lance_sql.catalogs.metadata_tables import cursor_page

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"&amp;\x1b[31m\u202e{{ 7*7 }}"
NAME = "<script>alert(3)</script>"


def checked(table: lance_sql.Dataset) -> str:
    """A check of rules, of which some are broken, by rows with values that are no markup."""
    table = table.rules.set("ids", "unique(id)").rules.set("amounts", "amount < 8").rules.set("known", "not_null(id)")
    return table.rules.set("small", "row_count_change(-0.1, 0.1)", severity="warn").rules.check().to_html()


def published(table: lance_sql.Dataset) -> str:
    """A load that cannot be published: the same row was changed on both sides, and a rule is broken."""
    table = table.rules.set("amounts", "amount < 1000")
    with table.branches.staged("load") as branch:
        changed = branch.update({"amount": "5000", NAME: "'on the branch'"}, "id = 3").delete("id = 4")
        _ = lance_sql.write({"id": [7000], NAME: [HOSTILE], "amount": [1.0]}, changed, mode="append")
    table = table.latest().update({"amount": "7"}, "id = 3")
    return table.branches.plan("load").to_html()


def searched(folder: Path) -> dict[str, str]:
    """What a search found among texts that try to be more, and what changed of it."""
    texts = [HOSTILE, f"{HOSTILE} alert", None, "alert " + "word " * 400, "nothing"]
    rows = {"id": list(range(5)), NAME: texts, "amount": [0.5, None, 1.5, 2.5, 3.5]}
    table = lance_sql.write(rows, folder / "texts<b>.lance", stable_row_ids=True)
    found = table.search(text="alert img", text_column=NAME, k=None).to_html()
    table = table.update({NAME: "'an alert, at last'"}, "id = 4").delete("id = 0")
    changed = table.search_changes(text="alert", text_column=NAME, since=1, k=None).to_html()
    return {"search": found, "search changes": changed}


def consumed(table: lance_sql.Dataset) -> str:
    """Cursors, of which one is behind and one is not."""
    table.cursors.open("warehouse", start="earliest")
    table.cursors.open("up-to-date", start="latest")
    return cursor_page(table)


def make(folder: Path) -> dict[str, str]:
    """The pages by their names. The table has ten versions, of which some are damaged, a tag and a branch."""
    table = lance_sql.write(
        {"id": list(range(40)), NAME: [HOSTILE, None, "", "x" * 5000] * 10, "amount": [float(n) for n in range(40)]},
        folder / "a<b>.lance",
    )
    table = table.update(
        {NAME: f"'{HOSTILE}'".replace("'\"", '"'), "amount": "amount + 0.5"}, "id < 5", properties={"<b>": HOSTILE}
    )
    table = table.delete("id % 7 = 6")
    for start in range(100, 500, 100):
        table = lance_sql.write(
            {"id": list(range(start, start + 60)), NAME: ["v"] * 60, "amount": [1.0] * 60}, table.uri, mode="append"
        )
    table.tags.create("audited", 3)
    table = table.merge({"id": [1, 2, 999], "amount": [7.0, 8.0, 9.0]}, on="id")
    table.branches.create("dev")
    table = table.add_columns({"net": "amount / 1.2"})
    found = {
        "feed": table.changes().to_html(),
        "stories": table.row_history().to_html("id < 8"),
        "diff": lance_sql.diff(f"{table.uri}@1", table, max_rows=12).to_html(),
        "history": table.history().to_html(),
        "layout": table.maintenance.layout().to_html(),
        "contract": checked(table),
        "cursors": consumed(table),
        "publication": published(table),
        **searched(folder),
        "healthy": lance_sql.verify(table.uri).to_html(),
        "healthy audit": lance_sql.audit(table.uri).to_html(),
    }
    first = min((Path(table.uri) / "data").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    content = bytearray(first.read_bytes())
    content[: len(content) // 2] = b"\xff" * (len(content) // 2)
    first.write_bytes(content)
    return found | {
        "verify": lance_sql.verify(table.uri, deep=True).to_html(),
        "audit": lance_sql.audit(table.uri).to_html(),
    }
