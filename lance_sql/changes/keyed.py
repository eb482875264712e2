"""Changes by the values of key columns, for tables without stable row ids.

Rows with equal keys are the same row. Only values show whether a commit changed a row: a row rewritten with the same
values is unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_sql.changes import earlier_columns, values
from lance_sql.changes.changed_rows import RowSelection
from lance_sql.changes.commit import CommitChanges, UpdateEvidence, rewritten, split_rewritten
from lance_sql.changes.earlier_columns import Sources
from lance_sql.changes.fragment_difference import ComparedVersion, compare
from lance_sql.changes.image_matching import Matched, Pairs, by_identity
from lance_sql.errors import InvalidArgument
from lance_sql.format.schema import Schema
from lance_sql.table.fragment import Fragment
from lance_sql.values import keys as key_rule
from lance_sql.values import value_text
from lance_sql.values.arrays import I64


@dataclass(frozen=True)
class KeyMatch:
    """Matching by key.

    names: the names of the key columns
    numbers: the indices of these columns in the feed
    """

    names: tuple[str, ...]
    numbers: tuple[int, ...]

    def __call__(self, old: RowSelection, new: RowSelection, was: Sources, now: Sources) -> Matched:
        """raises: InvalidArgument when two changed rows of one version have the same key."""
        before, after = self.keys(old, was), self.keys(new, now)
        old_ids, new_ids = key_rule.numbered([before, after], nulls_are_equal=False)
        shown = f"key ({', '.join(self.names)})"
        for ids, keys in ((old_ids, before), (new_ids, after)):
            repeated = key_rule.repeated(ids)
            if len(repeated):
                repeated_key = ", ".join(
                    repr(value_text.values(column.slice(int(repeated[0]), 1))[0]) for column in keys
                )
                raise InvalidArgument(
                    f"Two rows of one version have the {shown} {repeated_key}: pass key columns that are unique"
                )
        return by_identity(old, new, old_ids.view(np.uint64), new_ids.view(np.uint64), shown)

    def may_differ(self, old: Fragment, new: Fragment, was: Sources, now: Sources) -> bool:
        return any(earlier_columns.is_rewritten(old, new, was[number], now[number]) for number in self.numbers)

    def keys(self, rows: RowSelection, sources: Sources) -> list[pa.Array]:
        """Reads the key columns of some rows."""
        wanted = [sources[number] for number in self.numbers]
        if not rows.num_rows:
            return [pa.nulls(0, source.type) for source in wanted]
        return earlier_columns.read(rows, wanted)


def key_match(schema: Schema, key: str | Sequence[str], table: str) -> KeyMatch:
    """Returns the matching by these columns.

    raises: ColumnNotFound; InvalidArgument for no columns, and for nested ones
    """
    names = (key,) if isinstance(key, str) or not isinstance(key, Sequence) else tuple(key)
    if not all(isinstance(name, str) for name in names):
        raise InvalidArgument(f"key={key!r} is not a column name: pass a name, or a list of names")
    if not names:
        raise InvalidArgument("key= is empty: pass at least one column")
    for name in names:
        if len(schema.resolve(name, table=table)) > 1:
            raise InvalidArgument(f"key column {name!r} is a member of a struct: pass columns of plain values")
        key_rule.check(name, schema.arrow.field(name).type, is_json=schema.is_json(name))
    return KeyMatch(names, tuple(schema.names.index(name) for name in names))


def net_changes(
    match: KeyMatch, old: ComparedVersion, new: ComparedVersion, was: Sources, now: Sources
) -> CommitChanges:
    """Returns the net changes between two versions.

    was, now: the columns of the feed in both
    """
    difference = split_rewritten(compare(old, new, was, now), old, new, was, now, match)
    matched = match(difference.before, difference.after, was, now)
    pairs = matched.pairs
    updated: list[Pairs] = [pairs.where(values.differing(pairs, was, now))] if pairs.num_rows else []
    updated += rewritten(difference, old, new, was, now)
    return CommitChanges(
        matched.inserted, matched.deleted, tuple((each, UpdateEvidence.VALUES) for each in updated if each.num_rows)
    )


class LastCommits:
    """Last commit that changed the row of each key."""

    def __init__(self, match: KeyMatch) -> None:
        self._match = match
        self._keys: list[Sequence[pa.Array]] = []
        self._numbers: list[int] = []

    def add(self, number: int, changed: CommitChanges, was: Sources, now: Sources) -> None:
        """Records the keys that a commit changed; commits must be added in order."""
        sets = [(changed.inserted, now), (changed.deleted, was)]
        sets += [(pairs.before, was) for pairs, _ in changed.updated]
        for rows, sources in sets:
            if rows.num_rows:
                self._keys.append(self._match.keys(rows, sources))
                self._numbers.append(number)

    def of(self, rows: RowSelection, sources: Sources) -> I64:
        """Returns the number of the last commit for each row; the greatest for keys that no commit changed."""
        sides = [*self._keys, self._match.keys(rows, sources)]
        *earlier_keys, wanted = key_rule.numbered(sides, nulls_are_equal=False)
        last = np.full(int(wanted.max(initial=0)) + 1, max(self._numbers, default=0), np.int64)
        for keys, number in zip(earlier_keys, self._numbers, strict=True):
            last[keys[keys < len(last)]] = number
        return last[wanted]
