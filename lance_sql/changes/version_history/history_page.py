"""Page of a history: a chart of inserted and deleted rows, and the versions, newest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from lance_sql.changes.version_history.history import HistoryEntry
from lance_sql.table.refs import Ref
from lance_sql.values import html
from lance_sql.values.html import charts
from lance_sql.values.html.render import UNKNOWN, duration, moment, number, size

MAX_VERSIONS: Final = 500
_IN_A_PART: Final = 10
_BARS_HEIGHT: Final = 130.0
_AREA_HEIGHT: Final = 50.0
_ORIGIN: Final = ("job", "user", "host", "statement", "write_id")
_TONES: Final = {
    "insert": "ins",
    "create": "ins",
    "update": "upd",
    "merge": "upd",
    "delete": "del",
    "overwrite": "del",
    "damaged": "del",
}


def as_page(
    name: str,
    uri: str,
    entries: Sequence[HistoryEntry],
    branches: Mapping[str, Ref],
    *,
    branch: str | None = None,
) -> str:
    """Renders a whole page.

    entries: ascending; the newest ones are shown
    branches: of the table; the page shows those that begin with one of the versions
    """
    begun: dict[int, list[str]] = {}
    for other, ref in sorted(branches.items()):
        if ref.branch == branch:
            begun.setdefault(ref.version, []).append(other)
    return html.render("history", **_values(name, uri, entries, begun, MAX_VERSIONS, branch))


def as_part(name: str, uri: str, entries: Sequence[HistoryEntry]) -> str | None:
    """Renders the newest versions for a notebook."""
    return html.part("history_part", **_values(name, uri, entries, {}, _IN_A_PART, None))


def _values(
    name: str,
    uri: str,
    entries: Sequence[HistoryEntry],
    begun: Mapping[int, Sequence[str]],
    most: int,
    branch: str | None,
) -> dict[str, Any]:
    shown = entries[-most:]
    chart = charts.by_version(
        [entry.version for entry in shown],
        [
            (
                ("ins", entry.rows_inserted or 0, False),
                ("upd", entry.rows_updated or 0, False),
                ("del", entry.rows_deleted or 0, True),
            )
            for entry in shown
        ],
        [_title(entry) for entry in shown],
        _BARS_HEIGHT,
    )
    kinds = Counter(_kind(entry) for entry in shown)
    inserted, updated, deleted = (
        sum(getattr(entry, f"rows_{what}") or 0 for entry in entries) for what in ("inserted", "updated", "deleted")
    )
    rows = next((entry.rows for entry in reversed(entries) if entry.rows is not None), None)
    return {
        "name": name,
        "uri": uri,
        "branch": branch,
        "entries": [_entry(entry, begun.get(entry.version, ())) for entry in reversed(shown)],
        "left_out": len(entries) - len(shown),
        "kinds": kinds.most_common(),
        "total": len(entries),
        "rows": rows,
        "inserted": inserted,
        "updated": updated,
        "deleted": deleted,
        "bytes": sum(entry.bytes_written or 0 for entry in entries),
        "chart": chart,
        "area": charts.area([entry.rows for entry in shown], _AREA_HEIGHT),
        "most_rows": max((entry.rows or 0 for entry in shown), default=0),
        "chart_label": f"Rows inserted, updated and deleted by each of {len(shown)} versions: {inserted:,} inserted, "
        f"{updated:,} updated, {deleted:,} deleted in all; the list below has the numbers",
    }


def _kind(entry: HistoryEntry) -> str:
    return "damaged" if entry.damage is not None else entry.operation or "unknown"


def _title(entry: HistoryEntry) -> str:
    counts = ", ".join(
        f"{getattr(entry, f'rows_{what}'):,} {what}"
        for what in ("inserted", "updated", "deleted")
        if getattr(entry, f"rows_{what}")
    )
    return f"version {entry.version}, {_kind(entry)}" + (f": {counts}" if counts else "")


def _entry(entry: HistoryEntry, begun: Sequence[str]) -> dict[str, Any]:
    kind = _kind(entry)
    return {
        "version": entry.version,
        "kind": kind,
        "tone": _TONES.get(kind, ""),
        "timestamp": entry.timestamp,
        "job": entry.job,
        "rows": entry.rows,
        "tags": entry.tags,
        "branches": begun,
        "counts": (
            ("+", "ins", entry.rows_inserted, "inserted"),
            ("~", "upd", entry.rows_updated, "updated"),
            ("\N{MINUS SIGN}", "del", entry.rows_deleted, "deleted"),
        ),
        "facts": _facts(entry),
    }


def _facts(entry: HistoryEntry) -> list[tuple[str, str]]:
    if entry.damage is not None:
        return [("damage", entry.damage)]
    return [
        ("committed", moment(entry.timestamp)),
        ("rows", number(entry.rows)),
        ("inserted", number(entry.rows_inserted)),
        ("updated", number(entry.rows_updated)),
        ("deleted", number(entry.rows_deleted)),
        ("fragments", number(entry.fragments)),
        ("files written", number(entry.files_written)),
        ("bytes written", size(entry.bytes_written)),
        ("duration", duration(entry.duration_ms)),
        ("writer", entry.writer or UNKNOWN),
        *((name, text) for name in _ORIGIN if (text := getattr(entry, name)) is not None),
        *entry.properties,
    ]
