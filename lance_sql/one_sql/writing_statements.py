"""Base of statements that write."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

import lance_sql.opening
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument, TableNotFound, UnsupportedFeature
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.references import path_of, place_of
from lance_sql.providers.unmarked_folders import way_to_name
from lance_sql.table import address
from lance_sql.table.location import table_name
from lance_sql.table.version_names import split_name
from lance_sql.values.sql_tree import given
from lance_sql.values.typed_sql import shown


@dataclass(frozen=True)
class Change(ABC):
    """Statement that writes to a Lance table.

    path: of the table
    """

    path: str

    @property
    def replaces(self) -> bool:
        """Whether it changes or removes existing rows, which needs a confirmation."""
        return True

    @property
    def operation(self) -> str:
        """Name of the operation to report if no commit records it."""
        return "nothing"

    @property
    def question(self) -> str | None:
        """Confirmation question for a change that is not about rows, as in "drop the index id_idx of x.lance"."""
        return None

    @property
    def verb(self) -> str:
        """Verb for its effect on rows, for the confirmation question."""
        return "removes"

    @property
    def is_for_all_rows(self) -> bool:
        """Whether it removes or changes every row, which must be confirmed."""
        return False

    def begins_with_table(self) -> bool:
        """Whether the table exists before; a rehearsal then clones it."""
        return True

    def is_there(self) -> bool:
        """Whether the table exists."""
        try:
            self.table()
        except TableNotFound:
            return False
        return True

    @abstractmethod
    def carry_out(self, path: str, engine: Engine) -> Dataset:
        """Runs the statement.

        path: of the table, or of a copy of it
        returns: the new version; `last_change` is its summary
        """

    def report(self, path: str, engine: Engine) -> tuple[Dataset, Mapping[str, int]]:
        """Runs the statement; returns what `carry_out` does, and further numbers for its summary."""
        return self.carry_out(path, engine), {}

    def rehearse(self, engine: Engine) -> tuple[Dataset, Mapping[str, int]]:
        """Runs the statement in a clone of the table, which is then removed; this finds all errors.

        returns: as `report`; the `last_change` of the handle is usable, its rows are not
        """
        with tempfile.TemporaryDirectory(prefix="lance-sql-") as folder:
            # has the table's name, because errors contain it
            copy = os.path.join(folder, table_name(split_name(self.path)[0]))
            if self.begins_with_table():
                _ = self.table().branches.shallow_clone(copy)
            return self.report(copy, engine)

    def table(self) -> Dataset:
        """Opens the newest version of the table.

        raises: TableNotFound
        """
        return lance_sql.opening.open(self.path)


def target(node: exp.Expr | None, statement: str) -> tuple[str, str]:
    """Returns the path of the table that a statement writes to, and the name that qualifies its columns.

    raises: InvalidArgument for a version, which is immutable; UnsupportedFeature for tables of the engine
    """
    table = node.this if isinstance(node, exp.Schema) else node
    path = path_of(table)
    if path is not None and isinstance(table, exp.Table):
        only(table, f"The table of {statement}", "this", "db", "catalog", "alias", "version", "when")
    if not isinstance(table, exp.Table) or path is None:
        name = shown(table) if isinstance(table, exp.Expr) else str(table)
        place = place_of(table)
        if place is not None:
            raise TableNotFound(f"No table {'.'.join(place.name)} in the catalog {place.attached_as}")
        way = way_to_name(table.name if isinstance(table, exp.Table) else name)
        otherwise = way or f"run it in the engine itself for {name}"
        raise UnsupportedFeature(f"{statement} applies to Lance tables, such as 'x.lance': {otherwise}")
    if isinstance(table.args.get("alias"), exp.TableAlias) and isinstance(table.args["alias"].this, exp.Placeholder):
        raise InvalidArgument(
            f"{path} @{table.args['alias'].this.name}: write the version in quotes, as in 'x.lance@load'"
        )
    if table.args.get("version") or table.args.get("when"):
        raise InvalidArgument(f"Changes apply to the newest version: give {path} without a version")
    name = split_name(path)[0].rstrip("/").replace("\\", "/").rsplit("/", 1)[-1]
    return address.of_newest(path), table.alias or name[: -len(".lance")] or "lance_table"


def only(node: exp.Expr, statement: str, *parts: str) -> None:
    """Raises if a statement has other parts than the supported ones, so that none is ignored.

    parts: by the parser's names
    raises: UnsupportedFeature with the words of the first other part
    """
    for key, value in node.args.items():
        if key in parts or key not in given(node):
            continue
        first = value[0] if isinstance(value, list) else value
        words = key.strip("_").upper()
        part = shown(first) if isinstance(first, exp.Expr) else first if isinstance(first, str) else words
        raise UnsupportedFeature(f"{statement} does not support {_PARTS.get(key, words)}: {part}")


_PARTS: Final = {
    "alternative": "OR, only MERGE INTO .. WHEN MATCHED THEN UPDATE SET *",
    "conflict": "ON CONFLICT",
    "exists": "IF [NOT] EXISTS",
    "joins": "JOIN",
    "order": "ORDER BY",
    "sample": "TABLESAMPLE",
    "tables": "list of tables",
    "where": "REPLACE WHERE, only MERGE with WHEN NOT MATCHED BY SOURCE AND .. THEN DELETE",
    "with_": "WITH before it",
}


def column_in(name: str, dataset: Dataset) -> str:
    """Finds a column of a table by its case-insensitive name in SQL.

    raises: ColumnNotFound
    """
    names = dataset.schema.names
    if name in names:
        return name
    alike = [spelling for spelling in names if spelling.lower() == name.lower()]
    if len(alike) == 1:
        column: str = alike[0]
        return column
    # the scan raises an error that lists the columns
    _ = dataset.scan([name])
    raise InvalidArgument(
        f"The column {name!r} cannot be written: it is a member of a struct, or a system column. Set the whole column"
    )
