"""Statements on a whole table, in the syntax of Delta Lake, Iceberg, Trino, DuckDB and others.

OPTIMIZE t [WITH (target_rows = 1000000)]                     Dataset.maintenance.compact
VACUUM t RETAIN 168 HOURS [DRY RUN]                           Dataset.maintenance.cleanup
VACUUM t WITH (before_version = 3)                            Dataset.maintenance.cleanup
RESTORE [TABLE] t TO VERSION AS OF 4, TO TIMESTAMP AS OF ..   Dataset.restore
ANALYZE [TABLE] t [COMPUTE STATISTICS FOR COLUMNS a, b]       Dataset.maintenance.analyze
DROP TABLE [IF EXISTS] t
CREATE TABLE t SHALLOW CLONE s [VERSION AS OF 4]              Dataset.branches.shallow_clone

Each reader gets the words after those of `spellings.STATEMENTS`. It returns None for a table of the engine, and raises
InvalidArgument for an incomplete statement, and UnsupportedFeature for unknown clauses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.one_sql import in_catalogs
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.tasks import Cleanup, Task
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.one_sql.writing_statements import Change
from lance_sql.table import address
from lance_sql.values.durations import parse_age

_OF_COMPACT: Final = {
    "target_rows": "target_rows",
    "target_rows_per_fragment": "target_rows",
    "max_deleted_share": "max_deleted_share",
    "materialize_deletions_threshold": "max_deleted_share",
}
_OF_CLEANUP: Final = {
    "before_version": "before_version",
    "before_timestamp_millis": "before_timestamp_millis",
    "older_than": "older_than",
    "retain_versions": "retain_versions",
    "retain_n_versions": "retain_versions",
}
"""Options of OPTIMIZE and VACUUM by their names in SQL, also those of lance-spark, and in Python."""

_LAST_MILLISECOND: Final = 253_402_300_800_000
"""The first one of the year 10000."""

_UNITS: Final = {"HOUR": "hours", "HOURS": "hours", "DAY": "days", "DAYS": "days"}


@dataclass(frozen=True)
class Upkeep(Change):
    """Verb of `Dataset`.

    work: applies it to the newest version; returns the next version. The engine has the types of columns
    asks: the confirmation question, as in "drop the index id_idx"; None if nothing is removed
    counts: returns numbers of the summary from the versions before and after
    """

    work: Callable[[Dataset, Engine], Dataset | None]
    asks: str | None = None
    counts: Callable[[Dataset, Dataset], Mapping[str, int]] = lambda before, after: {}

    @property
    def replaces(self) -> bool:
        return self.asks is not None

    @property
    def question(self) -> str | None:
        return None if self.asks is None else f"{self.asks} of {self.path}"

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        return self.report(path, engine)[0]

    def report(self, path: str, engine: Engine) -> tuple[Dataset, Mapping[str, int]]:
        before = lance_sql.opening.open(path)
        after = self.work(before, engine) or before
        return after, self.counts(before, after)


def optimize(read: TokenReader) -> Change:
    path = address.of_newest(read.own_table("OPTIMIZE"))
    read.accept("FULL")
    if read.next_words(1) == ("WHERE",):
        raise UnsupportedFeature(
            "OPTIMIZE .. WHERE is not supported, because Lance tables have no partitions: use OPTIMIZE"
        )
    if read.next_words(1) == ("ZORDER",):
        raise UnsupportedFeature(
            "OPTIMIZE .. ZORDER BY is not supported, because rows keep their order: use CREATE INDEX"
        )
    given = read.options() if read.accept("WITH") else {}
    if not flag(given, "materialize_deletions", True):
        given["max_deleted_share"] = 1.0
    options = renamed(given, _OF_COMPACT, "OPTIMIZE")
    read.end()
    return Upkeep(path, lambda dataset, engine: dataset.maintenance.compact(**options), counts=_rewritten)


def _rewritten(before: Dataset, after: Dataset) -> Mapping[str, int]:
    """Counts the fragments and data files that a compaction removed and added, under the names of lance-spark."""
    old: Mapping[int, int] = {}
    new: Mapping[int, int] = {}
    done, num_versions = after.last_change, after.version - before.version
    made = None if done is None else ("compact", done.bytes_written, done.duration_ms)
    for entry in reversed(after.history(num_versions)) if num_versions else ():
        # others may have committed meanwhile, also compactions
        if (entry.operation, entry.bytes_written, entry.duration_ms) == made:
            old, new = (_files(after.at(version)) for version in (entry.version - 1, entry.version))
            break
    removed, added = old.keys() - new.keys(), new.keys() - old.keys()
    return {
        "fragments_removed": len(removed),
        "fragments_added": len(added),
        "files_removed": sum(old[id] for id in removed),
        "files_added": sum(new[id] for id in added),
    }


def _files(dataset: Dataset) -> Mapping[int, int]:
    """Returns the number of data files of each fragment, by its id."""
    return {fragment.id: len(fragment.files) for fragment in dataset.snapshot.manifest.fragments}


def vacuum(read: TokenReader) -> Task | None:
    if read.is_at_end:
        return None
    read.accept("LANCE")
    table = read.table()
    if table.path is None:
        if read.next_words(1) not in (("RETAIN",), ("DRY",), ("WITH",)):
            return None
        raise UnsupportedFeature(
            f"VACUUM .. RETAIN applies to Lance tables; {table.text} is not one: write its path in quotes, such as"
            " 'x.lance'"
        )
    read.accept_one("FULL", "LITE")
    older_than, before, retained = None, None, None
    if read.accept("WITH"):
        options = renamed(read.options(), _OF_CLEANUP, "VACUUM")
        before, retained = options.get("before_version"), options.get("retain_versions")
        older_than = options.get("older_than")
        if (moment := options.get("before_timestamp_millis")) is not None:
            older_than = datetime.now(UTC) - datetime.fromtimestamp(_milliseconds(moment), UTC)
    elif read.accept("RETAIN"):
        number = read.value("a number of hours")
        unit = read.accept_one(*_UNITS)
        if unit is None or not number.replace(".", "", 1).isdecimal():
            raise read.surprised("HOURS or DAYS")
        older_than = timedelta(**{_UNITS[unit]: float(number)})
    dry_run = read.accept("DRY", "RUN")
    read.end()
    return Cleanup(address.of_newest(table.path), older_than, dry_run, retained, before)


def _milliseconds(moment: object) -> float:
    """
    raises: InvalidArgument for what is no time
    """
    if not isinstance(moment, int) or not 0 <= moment < _LAST_MILLISECOND:
        raise InvalidArgument(f"before_timestamp_millis = {moment!r} is not a time in milliseconds since 1970")
    return moment / 1000


def restore(read: TokenReader) -> Change:
    path = address.of_newest(read.own_table("RESTORE"))
    read.expect("TO")
    version = _version(read)
    if version is None:
        raise read.surprised("VERSION AS OF or TIMESTAMP AS OF")
    read.end()

    def work(dataset: Dataset, engine: Engine) -> Dataset:
        return dataset.restore(version_of(dataset, *version))

    return Upkeep(path, work, f"go back to {version[0].lower()} {version[1]}")


def _version(read: TokenReader) -> tuple[str, int | str] | None:
    """Reads VERSION AS OF or TIMESTAMP AS OF, if it comes next, for `version_of`."""
    kind = read.accept_one("VERSION", "TIMESTAMP")
    if kind is None:
        return None
    read.expect("AS", "OF")
    return kind, read.version() if kind == "VERSION" else read.time()


def version_of(dataset: Dataset, kind: str, chosen: int | str) -> int:
    """Returns the number of a version given by a number, a tag or a time.

    raises: VersionNotFound
    """
    if kind == "TIMESTAMP":
        return lance_sql.opening.open(dataset.uri, as_of=str(chosen)).version
    return lance_sql.opening.open(dataset.uri, version=chosen).version


def flag(options: dict[str, Any], name: str, default: bool) -> bool:
    """Takes an option that is true or false.

    raises: InvalidArgument
    """
    value = options.pop(name, default)
    if not isinstance(value, bool):
        raise InvalidArgument(f"The option {name} = {value!r} is neither true nor false")
    return value


def renamed(options: dict[str, Any], names: Mapping[str, str], statement: str) -> dict[str, Any]:
    """Returns options by their names in Python.

    raises: UnsupportedFeature for an option that is not among the names
    """
    for option in options:
        if option not in names:
            raise UnsupportedFeature(f"{statement} .. WITH has no option {option!r}. Options: {', '.join(names)}")
    return {names[option]: value for option, value in options.items()}


def analyze(read: TokenReader) -> Change | None:
    read.accept("TABLE")
    if read.is_at_end or read.next_words(1) == ("VERBOSE",):
        return None
    path = read.table().path
    if path is None:
        return None
    columns: list[str] | None = None
    if read.accept("COMPUTE", "STATISTICS"):
        if read.accept("FOR", "ALL", "COLUMNS") or not read.accept("FOR", "COLUMNS"):
            columns = None
        else:
            columns = read.names("a column")
    elif read.next_words(1) == ("(",):
        columns = read.names("a column")
    read.end()

    def work(dataset: Dataset, engine: Engine) -> None:
        dataset.maintenance.analyze(columns)

    return Upkeep(address.of_newest(path), work)


def drop_table(read: TokenReader) -> Task | None:
    if_exists = read.accept("IF", "EXISTS")
    table = read.table()
    if table.path is None:
        return None
    read.accept_one("PURGE", "CASCADE", "RESTRICT")
    read.end()
    return in_catalogs.removal(table, if_exists)


def execute(read: TokenReader, path: str) -> Change | Task:
    """Parses the rest of ALTER TABLE path EXECUTE, of Trino."""
    if read.accept("OPTIMIZE"):
        return Upkeep(path, lambda dataset, engine: dataset.maintenance.compact(), counts=_rewritten)
    if read.accept_one("EXPIRE_SNAPSHOTS", "REMOVE_ORPHAN_FILES"):
        older_than = None
        if read.accept("("):
            read.expect("RETENTION_THRESHOLD")
            if not read.accept("=>"):
                read.expect("=", ">")
            older_than = parse_age(read.value("an age, such as '7d'"))
            read.expect(")")
        return Cleanup(path, older_than, False)
    raise UnsupportedFeature(
        "ALTER TABLE .. EXECUTE supports optimize and expire_snapshots only: use RESTORE TABLE to go back"
    )


def clone(read: TokenReader, path: str, *, is_shallow: bool) -> Change:
    """Parses the rest of CREATE TABLE path [SHALLOW | DEEP] CLONE."""
    source = read.own_table("CLONE")
    version = _version(read)
    read.end()
    if not is_shallow:
        raise UnsupportedFeature(
            f"CREATE TABLE .. CLONE is not supported: use CREATE TABLE '{path}' AS FROM '{source}' to copy the rows, or"
            " SHALLOW CLONE"
        )
    return _Clone(path, source, version)


@dataclass(frozen=True)
class _Clone(Change):
    source: str
    version: tuple[str, int | str] | None

    replaces = False
    operation = "clone"

    def begins_with_table(self) -> bool:
        return False

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        dataset = lance_sql.opening.open(self.source)
        if self.version is not None:
            dataset = lance_sql.opening.open(self.source, version=version_of(dataset, *self.version))
        return dataset.branches.shallow_clone(path)
