"""Statements on a whole table, in the syntax of Delta Lake, Iceberg, Trino, DuckDB and others.

OPTIMIZE t [WITH (target_rows = 1000000)]                     Dataset.maintenance.compact
VACUUM t RETAIN 168 HOURS [DRY RUN]                           Dataset.maintenance.cleanup
VACUUM t WITH (before_version = 3)                            Dataset.maintenance.cleanup
RESTORE [TABLE] t TO VERSION AS OF 4, TO TIMESTAMP AS OF ..   Dataset.restore
CREATE INDEX [name] ON t [USING btree] (column) [WITH (..)]   Dataset.indices.create
DROP INDEX name ON t                                          Dataset.indices.drop
REINDEX t, REINDEX name ON t, ALTER INDEX name ON t OPTIMIZE   Dataset.indices.optimize
ANALYZE [TABLE] t [COMPUTE STATISTICS FOR COLUMNS a, b]       Dataset.maintenance.analyze
DROP TABLE [IF EXISTS] t
CREATE TABLE t SHALLOW CLONE s [VERSION AS OF 4]              Dataset.branches.shallow_clone

Each reader gets the words after those of `spellings.STATEMENTS`. It returns None for a table of the engine, and raises
InvalidArgument for an incomplete statement, and UnsupportedFeature for unknown clauses.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.handles.indices import Indices
from lance_sql.one_sql import in_catalogs
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.tasks import Cleanup, Task
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.one_sql.writing_statements import Change
from lance_sql.table import address
from lance_sql.values.durations import parse_age

_OFFICIAL: Final = {"metric_type": "metric"}
"""Options that have other names in DuckDB's Lance extension."""

_OF_COMPACT: Final = {
    "target_rows": "target_rows",
    "target_rows_per_fragment": "target_rows",
    "max_deleted_share": "max_deleted_share",
    "materialize_deletions_threshold": "max_deleted_share",
}
_OF_OPTIMIZE_INDEX: Final = {"retrain": "rebuild"}
_OF_CLEANUP: Final = {
    "before_version": "before_version",
    "before_timestamp_millis": "before_timestamp_millis",
    "older_than": "older_than",
    "retain_versions": "retain_versions",
    "retain_n_versions": "retain_versions",
}
"""Options of OPTIMIZE, OPTIMIZE INDEX and VACUUM by their names in SQL, also those of lance-spark, and in Python."""

_LAST_MILLISECOND: Final = 253_402_300_800_000
"""The first one of the year 10000."""

_UNITS: Final = {"HOUR": "hours", "HOURS": "hours", "DAY": "days", "DAYS": "days"}


@dataclass(frozen=True)
class Upkeep(Change):
    """Verb of `Dataset`.

    work: applies it to the newest version; returns the next version. The engine has the types of columns
    asks: the confirmation question, as in "drop the index id_idx"; None if nothing is removed
    """

    work: Callable[[Dataset, Engine], Dataset | None]
    asks: str | None = None

    @property
    def replaces(self) -> bool:
        return self.asks is not None

    @property
    def question(self) -> str | None:
        return None if self.asks is None else f"{self.asks} of {self.path}"

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        dataset = lance_sql.opening.open(path)
        return self.work(dataset, engine) or dataset


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
    options = _renamed(_options(read), _OF_COMPACT, "OPTIMIZE") if read.accept("WITH") else {}
    read.end()
    return Upkeep(path, lambda dataset, engine: dataset.maintenance.compact(**options))


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
        options = _renamed(_options(read), _OF_CLEANUP, "VACUUM")
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


def create_index(read: TokenReader) -> Change | None:
    if_not_exists = read.accept("IF", "NOT", "EXISTS")
    name = None if read.next_words(1) == ("ON",) else read.name("the name of an index")
    read.expect("ON")
    read.accept("TABLE")
    path = read.table().path
    if path is None:
        return None
    return _index(read, address.of_newest(path), name, if_not_exists, replace="REPLACE" in read.spelling)


def create_index_of(read: TokenReader, path: str, *, replace: bool) -> Change:
    """Parses the rest of ALTER TABLE path CREATE INDEX, of lance-spark."""
    if_not_exists = read.accept("IF", "NOT", "EXISTS")
    name = None if read.next_words(1) in (("USING",), ("(",)) else read.name("the name of an index")
    return _index(read, path, name, if_not_exists, replace=replace)


def _index(read: TokenReader, path: str, name: str | None, if_not_exists: bool, *, replace: bool) -> Change:
    kind = _using(read)
    read.expect("(")
    column = read.name("a column")
    if read.next_words(1) in (("ASC",), ("DESC",), (",",)):
        raise UnsupportedFeature("CREATE INDEX supports one column, without an order")
    read.expect(")")
    kind = kind or _using(read) or "btree"
    options = _options(read) if read.accept("WITH") else {}
    read.end()
    train = _flag(options, "train", True)
    for option in options:
        if option in inspect.signature(Indices.create).parameters:
            raise InvalidArgument(f"CREATE INDEX .. WITH has no option {option!r}")
    chosen = {_OFFICIAL.get(option, option): value for option, value in options.items()}

    def work(dataset: Dataset, engine: Engine) -> Dataset | None:
        index_names = {index.name for index in dataset.indices.list()}
        if if_not_exists and (name or f"{column}_idx") in index_names:
            return None
        return dataset.indices.create(column, kind, name=name, replace=replace, train=train, **chosen)

    return Upkeep(path, work)


def _options(read: TokenReader) -> dict[str, Any]:
    """Reads options: (name = value, ..) with numbers, true, false, and texts."""
    options: dict[str, Any] = {}
    read.expect("(")
    while not read.accept(")"):
        name = read.name("the name of an option").lower()
        read.expect("=")
        text = read.value("a value")
        try:
            options[name] = json.loads(text.lower())
        except ValueError:
            options[name] = text
        if not read.accept(","):
            read.expect(")")
            break
    return options


def _flag(options: dict[str, Any], name: str, default: bool) -> bool:
    """Takes an option that is true or false.

    raises: InvalidArgument
    """
    value = options.pop(name, default)
    if not isinstance(value, bool):
        raise InvalidArgument(f"The option {name} = {value!r} is neither true nor false")
    return value


def _renamed(options: dict[str, Any], names: Mapping[str, str], statement: str) -> dict[str, Any]:
    """Returns options by their names in Python.

    raises: UnsupportedFeature for an option that is not among the names
    """
    for option in options:
        if option not in names:
            raise UnsupportedFeature(f"{statement} .. WITH has no option {option!r}. Options: {', '.join(names)}")
    return {names[option]: value for option, value in options.items()}


def _using(read: TokenReader) -> str | None:
    return read.name("a kind of index").lower() if read.accept("USING") else None


def drop_index(read: TokenReader) -> Change | None:
    if_exists = read.accept("IF", "EXISTS")
    name = read.name("the name of an index")
    if read.is_at_end:
        # DuckDB's own has no table
        return None
    read.expect("ON")
    path = read.own_table("DROP INDEX .. ON")
    read.end()
    return _without_index(address.of_newest(path), name, if_exists)


def drop_index_of(read: TokenReader, path: str) -> Change:
    """Parses the rest of ALTER TABLE path DROP INDEX, of lance-spark."""
    if_exists = read.accept("IF", "EXISTS")
    return _without_index(path, read.name("the name of an index"), if_exists)


def _without_index(path: str, name: str, if_exists: bool) -> Change:
    def work(dataset: Dataset, engine: Engine) -> Dataset | None:
        if if_exists and name not in dataset.indices:
            return None
        return dataset.indices.drop(name)

    return Upkeep(path, work, f"drop the index {name}")


def reindex(read: TokenReader) -> Change | None:
    """Parses REINDEX [TABLE] path, and REINDEX name ON path [RETRAIN]."""
    read.accept("TABLE")
    name = None
    if read.next_words(2)[1:] == ("ON",):
        name = read.name("the name of an index")
        read.expect("ON")
    path = None if read.is_at_end else read.table().path
    if path is None:
        return None
    rebuild = name is not None and read.accept("RETRAIN")
    read.end()
    return Upkeep(address.of_newest(path), lambda dataset, engine: dataset.indices.optimize(name, rebuild=rebuild))


def optimize_index_of(read: TokenReader, path: str) -> Change:
    """Parses the rest of ALTER TABLE path OPTIMIZE INDEX, of lance-spark."""
    name = read.name("the name of an index")
    options = _renamed(_options(read), _OF_OPTIMIZE_INDEX, "OPTIMIZE INDEX") if read.accept("WITH") else {}
    return Upkeep(path, lambda dataset, engine: dataset.indices.optimize(name, **options))


def alter_index(read: TokenReader) -> Change | None:
    """Parses ALTER INDEX name ON path OPTIMIZE."""
    name = read.name("the name of an index")
    if not read.accept("ON"):
        # of an engine, where an index is named without its table
        return None
    path = read.own_table("ALTER INDEX .. ON")
    read.expect("OPTIMIZE")
    read.end()
    return Upkeep(address.of_newest(path), lambda dataset, engine: dataset.indices.optimize(name))


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
        return Upkeep(path, lambda dataset, engine: dataset.maintenance.compact())
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
