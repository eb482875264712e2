"""An adapter of harlequin, the SQL editor in the terminal: DuckDB with Lance tables.

harlequin -a lance orders.lance       a view of the newest version
harlequin -a lance warehouse          the tables of a folder, attached under its name
harlequin -a lance warehouse lake.duckdb
"""

from __future__ import annotations

import os
from typing import Any

import duckdb
from harlequin.exception import HarlequinConnectionError, HarlequinQueryError
from harlequin_duckdb import DuckDbAdapter
from harlequin_duckdb.adapter import DuckDbConnection

import lance_sql
from lance_sql.errors import LanceError
from lance_sql.values.sql_text import identifier, literal

__all__ = ["Adapter"]


class _Session(DuckDbConnection):  # type: ignore[misc]  # harlequin has no types here
    """A connection whose errors harlequin shows beside the query."""

    def execute(self, query: str) -> Any:
        try:
            return super().execute(query)
        except LanceError as error:
            raise HarlequinQueryError(
                msg=str(error), title="lance-sql raised an error when running your query:"
            ) from error


class Adapter(DuckDbAdapter):  # type: ignore[misc]  # as above
    """The adapter, under the name `lance`. Its arguments are Lance tables, folders of them and databases of DuckDB; it
    has no options, and object stores are configured by their environment variables."""

    ADAPTER_OPTIONS = None
    ADAPTER_DETAILS = "SQL over Lance tables in DuckDB: lance-sql."
    IMPLEMENTS_READ_ONLY = False

    def connect(self) -> _Session:
        """
        raises: HarlequinConnectionError for an argument that is none of these
        """
        connection = lance_sql.connect()
        try:
            for argument in self.conn_str:
                if argument != ":memory:":
                    _attach(connection, argument)
        except (LanceError, duckdb.Error) as error:
            raise HarlequinConnectionError(str(error), title="lance-sql could not connect to your tables.") from error
        return _Session(connection)


def _attach(connection: Any, argument: str) -> None:
    """Adds a table as a view, and a folder of tables or a file of DuckDB as an attached database."""
    is_remote = "://" in argument
    name = os.path.basename(argument.rstrip("/") if is_remote else os.path.abspath(argument))
    if not is_remote and not os.path.isdir(argument):
        statement = f"ATTACH {literal(argument)}"
    elif name.endswith(".lance"):
        statement = f"CREATE VIEW {identifier(name.removesuffix('.lance'))} AS FROM {literal(argument)}"
    else:
        statement = f"ATTACH {literal(argument)} AS {identifier(name)} (TYPE lance)"
    # DuckDB 2.0 refuses queries while a result is unread
    connection.execute(statement).fetchall()
