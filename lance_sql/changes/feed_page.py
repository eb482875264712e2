"""Page of a feed: the inserted, updated and deleted rows of each commit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from lance_sql.changes.images import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, DELETE, INSERT, POSTIMAGE, PREIMAGE
from lance_sql.changes.shown_rows import ShownRow, alone, chosen_columns, paired
from lance_sql.changes.version_history.history import operation
from lance_sql.reads.scan.predicates import And, Predicate
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.table.commit_origin import UNKNOWN, CommitOrigin
from lance_sql.values import html
from lance_sql.values.html import charts

if TYPE_CHECKING:
    from lance_sql.changes.feed import ChangeFeed

MAX_COMMITS: Final = 100
"""Maximum number of commits shown with their rows, newest first; all commits are counted."""
MAX_ROWS: Final = 25
"""Maximum number of rows shown of each kind in a commit."""
_IN_A_PART: Final = (3, 5)
_BARS_HEIGHT: Final = 130.0
_KINDS: Final = {INSERT: "ins", POSTIMAGE: "upd", DELETE: "del"}


@dataclass
class _Commit:
    """Shown values of a commit. counts: by kind, under the names of the style sheet"""

    version: int
    timestamp: datetime
    operation: str | None = None
    origin: CommitOrigin = UNKNOWN
    counts: Counter[str] = field(default_factory=Counter)
    names: Sequence[str] = ()
    rows: Sequence[ShownRow] = ()

    @property
    def left_out(self) -> int:
        """Number of rows that are not shown."""
        return self.counts.total() - len(self.rows)

    @property
    def title(self) -> str:
        """Tooltip of its bar."""
        counts = ", ".join(f"{self.counts[kind]:,} {what}" for kind, what in _WORDS if self.counts[kind])
        return f"version {self.version}: {counts}"


_WORDS: Final = (("ins", "inserted"), ("upd", "updated"), ("del", "deleted"))


def as_page(feed: ChangeFeed, predicate: Predicate | None = None) -> str:
    """Renders a page in one file that needs no network.

    predicate: the filter on images
    raises: MissingDependency where Jinja2 is not installed; as reading the feed
    """
    return html.render("feed", **_values(feed, predicate, MAX_COMMITS, MAX_ROWS))


def as_part(feed: ChangeFeed) -> str | None:
    """Renders the newest commits for a notebook."""
    return html.part("feed_part", **_values(feed, None, *_IN_A_PART))


def _values(feed: ChangeFeed, predicate: Predicate | None, max_commits: int, max_rows: int) -> dict[str, Any]:
    commits = _counted(feed, predicate)
    shown = commits[-max_commits:]
    for each in shown:
        if not feed.is_snapshot:
            each.operation = operation(feed.range.history.snapshot_at(each.version))
            each.origin = feed.range.history.commit(each.version).origin
        rows = list(_rows(feed, each.version, predicate, max_rows))
        each.names = chosen_columns(_names(feed), rows, feed.naming_columns)
        each.rows = rows
    chart = charts.by_version(
        [each.version for each in shown],
        [[(kind, each.counts[kind], kind == "del") for kind, _ in _WORDS] for each in shown],
        [each.title for each in shown],
        _BARS_HEIGHT,
    )
    totals: Counter[str] = Counter()
    for each in commits:
        totals += each.counts
    return {
        "feed": feed,
        "filter": predicate,
        "commits": shown[::-1],
        "older": len(commits) - len(shown),
        "total": len(commits),
        "totals": totals,
        "words": _WORDS,
        "chart": chart,
        "num_columns": len(_names(feed)),
    }


def _names(feed: ChangeFeed) -> list[str]:
    feed_names = {column.name for column in feed.feed_fields}
    return [name for name in feed.schema.names if name not in feed_names and name != ROW_ID]


def _counted(feed: ChangeFeed, predicate: Predicate | None) -> list[_Commit]:
    """Counts the changed rows of each commit by kind, ascending by version; reads only the columns of the filter."""
    commits: dict[int, _Commit] = {}
    for batch in feed.scan([COMMIT_VERSION, COMMIT_TIMESTAMP, CHANGE_TYPE], predicate).to_reader():
        names = list(batch.schema.names)
        groups = pa.Table.from_batches([batch]).group_by(names).aggregate([([], "count_all")])
        for group in groups.to_pylist():
            kind = _KINDS.get(group[CHANGE_TYPE])
            if kind is not None:
                version = group[COMMIT_VERSION]
                commit = commits.setdefault(version, _Commit(version, group[COMMIT_TIMESTAMP]))
                commit.counts[kind] += group["count_all"]
    return [commits[version] for version in sorted(commits)]


def changed_rows(feed: ChangeFeed, max_rows: int) -> tuple[Sequence[str], Sequence[ShownRow]]:
    """Returns the columns to show and the first updated, inserted and deleted rows of a feed, over all its commits.

    max_rows: of each kind
    """
    rows = list(_rows(feed, None, None, max_rows))
    return chosen_columns(_names(feed), rows, feed.naming_columns), rows


def _rows(feed: ChangeFeed, version: int | None, predicate: Predicate | None, most: int) -> Iterator[ShownRow]:
    """Yields the first rows that a commit, or any of them, updated, inserted and deleted."""
    yield from _updated(feed, version, predicate, most)
    for kind in (INSERT, DELETE):
        images = _images(feed, version, kind, predicate, most)
        yield from alone(_KINDS[kind], images, _names(feed), _ids(feed, images))


def _updated(feed: ChangeFeed, version: int | None, predicate: Predicate | None, most: int) -> Iterator[ShownRow]:
    """Yields updated rows whose later images pass the filter, with their earlier images."""
    after = _images(feed, version, POSTIMAGE, predicate, most)
    wanted = defaultdict(list)
    for number, key in enumerate(_keys(feed, after)):
        wanted[key].append(number)
    left = set(wanted)
    earlier, later, indices = [], [], []
    of_commit = _of(version, PREIMAGE)
    if not feed.is_by_key:
        of_commit += f" AND {ROW_ID} IN ({', '.join(str(key[0]) for key in wanted) or 'NULL'})"
    for batch in feed.scan([*_names(feed), ROW_ID], of_commit).to_reader() if left else ():
        images = pa.Table.from_batches([batch])
        for number, key in enumerate(_keys(feed, images)):
            if key in left:
                left.discard(key)
                earlier.append(images.slice(number, 1))
                later.append(after.slice(wanted[key][0], 1))
                indices.append(wanted[key][0])
        if not left:
            break
    if earlier:
        before, then = pa.concat_tables(earlier), pa.concat_tables(later)
        shown = list(paired(before, then, _names(feed), _ids(feed, then)))
        yield from (row for _, row in sorted(zip(indices, shown, strict=True), key=lambda each: each[0]))


def _of(version: int | None, kind: str) -> str:
    """Returns the condition on images of a kind, of one commit or of all."""
    of_kind = f"{CHANGE_TYPE} = '{kind}'"
    return of_kind if version is None else f"{COMMIT_VERSION} = {version} AND {of_kind}"


def _images(feed: ChangeFeed, version: int | None, kind: str, predicate: Predicate | None, most: int) -> pa.Table:
    of_commit = feed.predicate(_of(version, kind))
    wanted = of_commit if predicate is None else And((of_commit, predicate))
    return feed.scan([*_names(feed), ROW_ID], wanted, limit=most).to_table()


def _keys(feed: ChangeFeed, images: pa.Table) -> list[tuple[Any, ...]]:
    """Returns the identity of each row: its key, or its row id."""
    columns = [images[name].to_pylist() for name in feed.key or (ROW_ID,)]
    return list(zip(*columns, strict=True))


def _ids(feed: ChangeFeed, images: pa.Table) -> Sequence[int | None]:
    return [None] * images.num_rows if feed.is_by_key else images[ROW_ID].to_pylist()
