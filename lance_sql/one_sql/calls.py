"""Functions of DuckDB's official extension that change a table, each as a statement of its own.

SELECT Count FROM lance_set_config('x.lance', 'key', 'value')      CALL, FROM and SELECT * are synonyms
SELECT Count FROM lance_compact_files('x.lance')

Within a query they are refused, because an engine may call a table function twice, or only to explain the query.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias

import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, UnsupportedFeature
from lance_sql.handles.config import Config
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.named_tables import is_path, path_of_name
from lance_sql.one_sql.tasks import Cleanup, Task
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.one_sql.upkeep import Upkeep
from lance_sql.one_sql.writing_statements import Change
from lance_sql.table import address

_PREFIXES: Final = (("SELECT", "COUNT", "FROM"), ("SELECT", "*", "FROM"), ("FROM",), ("CALL",))

Arguments: TypeAlias = list[str]


@dataclass(frozen=True)
class Call(Task):
    """A call; its result has one row, which counts it."""

    work: Change | Task

    @property
    def question(self) -> str | None:
        return self.work.question

    def run(self, engine: Engine, *, dry_run: bool = False) -> pa.Table:
        if isinstance(self.work, Task):
            self.work.run(engine, dry_run=dry_run)
        elif dry_run:
            self.work.rehearse(engine)
        else:
            self.work.carry_out(self.work.path, engine)
        return pa.table({"Count": pa.array([1], pa.int64())})


def call(read: TokenReader) -> Call | None:
    """Reads a call that is a whole statement; returns None for every other one."""
    for prefix in _PREFIXES:
        words = read.next_words(len(prefix) + 2)
        if words[:-2] == prefix and words[-1] == "(" and words[-2].lower() in _FUNCTIONS:
            break
    else:
        return None
    read.expect(*words[:-1])
    read.expect("(")
    given = [read.value("a constant")]
    while read.accept(","):
        given.append(read.value("a constant"))
    read.expect(")")
    if not read.is_at_end:
        return None
    function = words[-2].lower()
    names, work = _FUNCTIONS[function]
    if len(given) != len(names):
        raise InvalidArgument(f"{function} has the arguments {', '.join(names)}, not {len(given)}")
    table, *arguments = given
    path = table if is_path(table) else path_of_name(table.split("."))
    if path is None:
        raise UnsupportedFeature(f"{function} applies to Lance tables, such as 'x.lance'; {table!r} is not one")
    read.is_of_lance = True
    return Call(work(address.of_newest(path), arguments))


def _sets(update: Callable[..., Dataset], num_columns: int = 0) -> Callable[[str, Arguments], Change]:
    """Returns the work of a function that sets a key, or removes it if no value is given."""

    def work(path: str, given: Arguments) -> Change:
        column, (key, *value) = given[:num_columns], given[num_columns:]
        values = {key: value[0] if value else None}
        return Upkeep(path, lambda dataset, engine: update(dataset.config, *column, values))

    return work


def _create_index(path: str, given: Arguments) -> Change:
    column, name = given
    return Upkeep(path, lambda dataset, engine: dataset.indices.create(column, "btree", name=name))


def _compact(path: str, given: Arguments) -> Change:
    return Upkeep(path, lambda dataset, engine: dataset.maintenance.compact())


def _cleanup(path: str, given: Arguments) -> Task:
    seconds, unverified = given
    if unverified.lower() not in ("false", "null"):
        raise UnsupportedFeature(
            f"lance_cleanup_old_versions cannot remove files that running writes may need: pass false, not {unverified}"
        )
    try:
        age = timedelta(seconds=json.loads(seconds))
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidArgument(f"older_than_seconds = {seconds!r} is not a number of seconds") from error
    return Cleanup(path, age, False)


_METADATA: Final[Mapping[str, Callable[..., Any]]] = {
    "config": Config.update,
    "table_metadata": Config.update_table_metadata,
    "schema_metadata": Config.update_schema_metadata,
}
_FUNCTIONS: Final[Mapping[str, tuple[tuple[str, ...], Callable[[str, Arguments], Change | Task]]]] = {
    **{f"lance_set_{name}": (("table", "key", "value"), _sets(update)) for name, update in _METADATA.items()},
    **{f"lance_unset_{name}": (("table", "key"), _sets(update)) for name, update in _METADATA.items()},
    "lance_set_column_metadata": (("table", "column", "key", "value"), _sets(Config.update_field_metadata, 1)),
    "lance_unset_column_metadata": (("table", "column", "key"), _sets(Config.update_field_metadata, 1)),
    "lance_create_scalar_index": (("table", "column", "name"), _create_index),
    "lance_compact_files": (("table",), _compact),
    "lance_cleanup_old_versions": (("table", "older_than_seconds", "delete_unverified"), _cleanup),
}
"""Names of the arguments, and the work, by function."""
