"""Cursors of a table: named positions in its change feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_sql import changes
from lance_sql.handles.handle import D, Named
from lance_sql.table import cursor_files
from lance_sql.table.cursor_files import CursorRecord
from lance_sql.values.records import NamedRecords

if TYPE_CHECKING:
    from lance_sql.changes.bounds import Bound
    from lance_sql.changes.cursors import Cursor


@dataclass(frozen=True, repr=False)
class Cursors(Named[D, CursorRecord]):
    """The cursors of all branches as of now: named, durable positions in the change feed.

    >>> with orders.cursors.open("warehouse").read() as changes:
    ...     print(changes.count_rows())
    370
    >>> orders.cursors
    Cursors(warehouse)
    >>> orders.cursors["warehouse"].position
    1
    """

    _kind = "cursor"

    def list(self) -> dict[str, CursorRecord]:
        """Returns the positions of the cursors of all branches as of now, by name.

        raises: CorruptFile
        """
        return NamedRecords(self._by_name())

    def open(self, name: str, start: Bound = "earliest", *, key: str | Sequence[str] | None = None) -> Cursor:
        """Opens a cursor: a named, durable position in the change feed of this branch. A job that reads from it
        continues where its last run stopped. Creates the cursor if it does not exist.

        name: follows the rules of tag names
        start: where the first run of a new cursor begins: "earliest", with the first version; "latest", with later
            commits only; "snapshot", with all rows of the newest version as inserts; or a version, a tag or a
            time, which belong to the range. If the first versions were cleaned up, "earliest" takes all rows of the
            oldest version after which all changes are known. Ignored for an existing cursor
        key: columns that identify rows, as for `Dataset.changes`; for tables without stable row ids and primary key
        raises: InvalidArgument for an invalid name, and for a cursor of another branch; VersionNotFound

        >>> with orders.cursors.open("warehouse").read() as changes:
        ...     print(changes.count_rows() == orders.count_rows())
        True
        """
        return changes.cursors.open_cursor(self._snapshot, name, start, key)

    def _by_name(self) -> dict[str, CursorRecord]:
        return {record.name: record for record in cursor_files.read_all(self._snapshot.main)}
