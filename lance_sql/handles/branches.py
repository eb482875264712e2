"""Branches: lines of versions beside main, and their publication."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from lance_sql import changes
from lance_sql.handles.handle import D, Named
from lance_sql.table.refs import Ref
from lance_sql.values.local_paths import place_text
from lance_sql.values.records import NamedRecords
from lance_sql.writes import statements

if TYPE_CHECKING:
    from lance_sql.changes.publishing import Publication
    from lance_sql.writes.commit_options import CommitOptions


@dataclass(frozen=True, repr=False)
class Branches(Named[D, Ref]):
    """The branches of a table as of now, without main.

    >>> branch = orders.branches.create("experiment").delete("status = 'cancelled'")
    >>> branch.branch, branch.count_rows() < orders.latest().count_rows()
    ('experiment', True)
    >>> orders.branches
    Branches(experiment)
    """

    _kind = "branch"

    def list(self) -> dict[str, Ref]:
        """Returns the branches of the table as of now, by name, without main."""
        return NamedRecords(self._snapshot.branches())

    def create(self, name: str) -> D:
        """Creates a branch that begins with this version, and returns a handle on it. No file is copied.

        raises: BranchExists; InvalidArgument for an invalid name
        """
        return self._opened(statements.maintenance.create_branch(self._snapshot, name))

    @contextmanager
    def staged(self, name: str) -> Iterator[D]:
        """Creates a staging branch for a job, from the newest version of this branch. `lance_sql.write`, the verbs and
        Spark accept the handle. The branch remains after the block for checks and `publish`, even after an error.

        raises: BranchExists; InvalidArgument for an invalid name

        >>> with orders.branches.staged("load-2026-11-24") as branch:
        ...     _ = branch.delete("status = 'cancelled'")
        >>> orders.branches.publish("load-2026-11-24").last_change.rows_deleted
        18
        """
        yield self._opened(statements.maintenance.create_branch(self._snapshot.latest(), name))

    def plan(self, name: str, *, key: str | Sequence[str] | None = None) -> Publication:
        """Previews `publish`: rows inserted, updated and deleted, and the rows that both branches have changed.

        raises: as `publish`, but for conflicts
        """
        return changes.publishing.plan(self._snapshot, name, key)

    def publish(
        self, name: str, *, key: str | Sequence[str] | None = None, keep: bool = False, **options: Unpack[CommitOptions]
    ) -> D:
        """Commits the changes of a branch to this one, where it began, as one version. Updated rows keep their ids.
        Commits made here since then remain. A row that both branches have changed is a conflict.

        key: columns that identify rows: a key that both branches have assigned to different rows is a conflict as well.
            Defaults to the primary key
        keep: keep the branch, which is removed otherwise
        raises: ContractBroken if rows of the branch break a rule of this one; VersionNotFound if there is no
            such branch; CommitConflict, and nothing is published, with the rows of `plan`;
            InvalidArgument for a branch that began elsewhere, and for a table without stable row ids;
            UnsupportedFeature if the branch has other columns
        """
        return self._changed("publish", options, changes.publishing.publish, name, key=key, keep=keep)

    def delete(self, name: str) -> None:
        """Removes a branch and the files written to it.

        raises: VersionNotFound; InvalidArgument if a tag or another branch begins there
        """
        from lance_sql.writes.commit import clones

        clones.delete_branch(self._snapshot, name)

    def shallow_clone(self, uri: str | os.PathLike[str]) -> D:
        """Creates a separate table that begins with this version, like a branch in another place. No file is copied:
        the clone needs the files of this table, and a cleanup of this table ignores the clone.

        raises: TableExists
        """
        from lance_sql.writes.commit import clones

        return self._opened(clones.shallow_clone(self._snapshot, place_text(uri)))

    def _by_name(self) -> dict[str, Ref]:
        return self._snapshot.branches()
