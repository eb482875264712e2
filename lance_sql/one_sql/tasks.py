"""Statements that return their own table: metadata of tables, and operations that remove more than rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import timedelta

import pyarrow as pa

import lance_sql.opening
from lance_sql.catalogs.contract import check_kind
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, TableNotFound
from lance_sql.one_sql.engines import Engine
from lance_sql.table import table_folders


class Task(ABC):
    """Statement that neither reads rows nor changes them."""

    @property
    def question(self) -> str | None:
        """Confirmation question for users; None if nothing is removed."""
        return None

    @property
    def changes(self) -> bool:
        """Whether it changes something."""
        return True

    def perform(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        """Runs the statement outside transactions; see `run`.

        raises: as `Engine.check_no_transaction`
        """
        if self.changes and not dry_run:
            engine.check_no_transaction()
        return self.run(engine, dry_run=dry_run)

    @abstractmethod
    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        """Runs the statement, or returns its plan.

        returns: the summary, or the requested metadata
        """


@dataclass(frozen=True)
class Answer(Task):
    """SHOW, DESCRIBE: metadata of a table."""

    answer: Callable[[Engine], pa.Table]

    changes = False

    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        return self.answer(engine)


@dataclass(frozen=True)
class Cleanup(Task):
    """VACUUM.

    older_than, retain_versions: of `Dataset.maintenance.cleanup`
    is_rehearsal: the statement has DRY RUN
    before_version: remove no version from this one on
    """

    path: str
    older_than: timedelta | str | None
    is_rehearsal: bool
    retain_versions: int | None = None
    before_version: int | None = None

    @property
    def changes(self) -> bool:
        return not self.is_rehearsal

    @property
    def question(self) -> str | None:
        row = self._row(dry_run=True)
        if self.is_rehearsal or not (row["versions"] or row["files"]):
            return None
        return f"remove {row['versions']} versions and {row['files']} files of {self.path}"

    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        return pa.Table.from_pylist([self._row(dry_run=dry_run or self.is_rehearsal)], schema=_CLEANUP)

    def _retained(self, dataset: Dataset) -> int | None:
        """Returns how many of the newest versions stay.

        raises: InvalidArgument for a number that is no version
        """
        before = self.before_version
        if before is None:
            return self.retain_versions
        if not isinstance(before, int) or before < 1:
            raise InvalidArgument(f"before_version = {before!r} is not the number of a version of {self.path}")
        # the newest version stays in any case
        return sum(each.version >= before for each in dataset.versions()) or 1

    def _row(self, *, dry_run: bool) -> dict[str, object]:
        dataset = lance_sql.opening.open(self.path)
        plan = dataset.maintenance.cleanup(
            older_than=self.older_than, retain_versions=self._retained(dataset), dry_run=dry_run
        )
        counts = (len(plan.versions), len(plan.files), plan.num_bytes)
        return {
            "path": self.path,
            **dict(zip(("versions", "files", "bytes"), counts, strict=True)),
            "done": not dry_run,
        }


@dataclass(frozen=True)
class Removal(Task):
    """DROP TABLE, or DROP MATERIALIZED VIEW. Neither removes what the other one names.

    of_view: the statement names a view
    """

    path: str
    if_exists: bool
    of_view: bool = field(default=False, kw_only=True)

    @property
    def question(self) -> str | None:
        try:
            dataset = lance_sql.opening.open(self.path)
        except TableNotFound:
            return None
        return f"drop {self.path}, {dataset.count_rows()} rows, with all of its {len(dataset.versions())} versions"

    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        self._check_kind()
        files = 0
        if not self.if_exists or self.question is not None:
            files = table_folders.count(self.path) if dry_run else table_folders.drop(self.path)
        row = {"path": self.path, "files": files, "done": not dry_run and files > 0}
        return pa.Table.from_pylist([row], schema=_REMOVAL)

    def _check_kind(self) -> None:
        """
        raises: InvalidArgument for a table as a view, and for a view as a table
        """
        other_way = "DROP TABLE" if self.of_view else "DROP MATERIALIZED VIEW"
        with suppress(TableNotFound) if self.if_exists else nullcontext():
            check_kind(self.path, is_view=self.of_view, other_way=other_way)


@dataclass(frozen=True)
class Renaming(Task):
    """ALTER TABLE .. RENAME TO."""

    path: str
    target: str

    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        table_folders.move(self.path, self.target, dry_run=dry_run)
        return pa.table({"path": [self.path], "new_path": [self.target], "done": [not dry_run]})


@dataclass(frozen=True)
class Naming(Task):
    """ALTER TABLE .. CREATE TAG, and other changes of names that make no new version of the table.

    work: runs the change
    asks: as `Task.question`
    """

    path: str
    what: str
    work: Callable[[], object]
    asks: str | None = None

    @property
    def question(self) -> str | None:
        return self.asks

    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        if not dry_run:
            self.work()
        return pa.table({"path": [self.path], "what": [self.what], "done": [not dry_run]})


_CLEANUP = pa.schema(
    {"path": pa.string(), "versions": pa.int64(), "files": pa.int64(), "bytes": pa.int64(), "done": pa.bool_()}
)
_REMOVAL = pa.schema({"path": pa.string(), "files": pa.int64(), "done": pa.bool_()})
