"""Where the consumers of a table are, as a page."""

from __future__ import annotations

from lance_sql.dataset import Dataset
from lance_sql.metadata.metadata_tables.name_rows import cursors


def cursor_page(dataset: Dataset) -> str:
    """The cursors of a table as of now, in one file, which needs no network: those that are farthest behind first.

    raises: MissingDependency where Jinja2 is not installed; CorruptFile
    """
    from lance_sql import pages

    rows = cursors(dataset).to_pylist()
    gone = [row for row in rows if row["versions_behind"] is None]
    rows.sort(key=lambda row: (row["versions_behind"] is not None, -(row["versions_behind"] or 0), row["cursor"]))
    behind = [row for row in rows if row["versions_behind"]]
    return pages.render(
        "cursors",
        table=dataset.snapshot.name,
        rows=rows,
        gone=gone,
        behind=behind,
        most=max((row["versions_behind"] for row in behind), default=0),
    )
