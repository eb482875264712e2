"""APPLY CHANGES INTO, in the syntax of Databricks: changes by key become the latest rows, or the full history.

    APPLY CHANGES INTO 'users.lance' FROM 'moves.parquet' KEYS (user)
        [IGNORE NULL UPDATES] [APPLY AS DELETE WHEN op = 'd'] [SEQUENCE BY at] [COLUMNS a, b | COLUMNS * EXCEPT (op)]
        [STORED AS SCD TYPE 2] [TRACK HISTORY ON a | * EXCEPT (b)]

AUTO CDC INTO and FROM STREAM(..) are synonyms. The source is any table of the engine, or a query in parentheses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from sqlglot import exp

from lance_sql.dataset import Dataset
from lance_sql.jobs.applying import apply_changes
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.one_sql.writing_statements import Change
from lance_sql.table import address

_CLAUSES = ("IGNORE", "APPLY", "SEQUENCE", "COLUMNS", "STORED", "TRACK")


@dataclass(frozen=True)
class Application(Change):
    """APPLY CHANGES INTO.

    source: the query that returns the changes
    options: of `apply_changes`
    """

    source: exp.Expr
    options: dict[str, Any]

    operation = "apply_changes"
    verb = "changes"

    def begins_with_table(self) -> bool:
        return self.is_there()

    def carry_out(self, path: str, engine: Engine) -> Dataset:
        return apply_changes(path, engine.prepare(self.source).reader(), **self.options)


def apply(read: TokenReader, parse_query: Callable[[str], exp.Expr]) -> Change:
    """
    raises: InvalidArgument for an incomplete one; UnsupportedFeature for a target of the engine
    """
    read.accept_one("LIVE.", "TABLE")
    path = read.own_table("APPLY CHANGES INTO")
    read.expect("FROM")
    is_stream = read.accept("STREAM", "(")
    source = read.expression("KEYS")
    if is_stream:
        read.expect(")")
    read.expect("KEYS")
    options: dict[str, Any] = {"keys": read.names("a key column")}
    while not read.is_at_end:
        _clause(read, options)
    return Application(address.of_newest(path), parse_query(f"SELECT * FROM {source}"), options)


def _clause(read: TokenReader, options: dict[str, Any]) -> None:
    """Parses the next clause into `options`.

    raises: InvalidArgument
    """
    expression = partial(read.expression, *_CLAUSES)
    if read.accept("IGNORE", "NULL", "UPDATES"):
        options["ignore_null_updates"] = True
        if read.accept("ON"):
            options["ignore_null_updates"] = read.names("a column")
    elif read.accept("APPLY", "AS", "DELETE", "WHEN"):
        options["delete_when"] = expression()
    elif read.accept("SEQUENCE", "BY"):
        options["sequence_by"] = read.names("a column")
    elif read.accept("COLUMNS"):
        name, columns = _chosen(read)
        options["columns" if name == "on" else "except_columns"] = columns
    elif read.accept("STORED", "AS"):
        if not read.accept("SCD_TYPE"):
            read.expect("SCD", "TYPE")
        scd: dict[str, Literal[1, 2]] = {"1": 1, "2": 2}
        type = read.accept_one(*scd)
        if type is None:
            raise read.surprised("1 or 2")
        options["scd"] = scd[type]
    elif read.accept("TRACK", "HISTORY", "ON"):
        name, columns = _chosen(read)
        options[f"track_history_{name}"] = columns
    else:
        raise read.surprised(
            "IGNORE NULL UPDATES, APPLY AS DELETE WHEN, SEQUENCE BY, COLUMNS, STORED AS, TRACK HISTORY ON"
        )


def _chosen(read: TokenReader) -> tuple[str, list[str]]:
    """Parses a list of columns, or of excluded columns."""
    if read.accept("*"):
        read.expect("EXCEPT")
        return "except", read.names("a column")
    return "on", read.names("a column")
