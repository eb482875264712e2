"""Rows as frames of other libraries, which are imported on first use."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa

from lance_sql.errors import MissingDependency, UnsupportedFeature
from lance_sql.values.guessed_names import OF_ROWS, NamesGuessed


class Frames(NamesGuessed):
    """Conversions of everything with rows, beside Arrow."""

    _guessed_names = OF_ROWS

    @abstractmethod
    def to_table(self) -> pa.Table:
        """Returns all rows in memory."""

    def to_pandas(self, **options: Any) -> Any:
        """Returns all rows as a DataFrame of pandas.

        options: of `pyarrow.Table.to_pandas`, such as `types_mapper`
        raises: MissingDependency; UnsupportedFeature for a column that pandas does not support
        """
        library("pandas")
        return _converted(self.to_table(), "pandas", lambda table: table.to_pandas(**options))

    def to_polars(self) -> Any:
        """Returns all rows as a DataFrame of Polars.

        raises: MissingDependency; UnsupportedFeature for a column that Polars does not support
        """
        return to_frame(self.to_table())


def to_frame(table: pa.Table) -> Any:
    """Returns the rows as a DataFrame of Polars.

    raises: MissingDependency; UnsupportedFeature for a column that Polars does not support
    """
    return _converted(table, "Polars", library("polars").from_arrow)


def _converted(table: pa.Table, library: str, convert: Callable[[pa.Table], Any]) -> Any:
    """raises: UnsupportedFeature, which names the first column that cannot be converted on its own"""
    try:
        return convert(table)
    except BaseException as error:
        if not _is_of_values(error):
            raise
        for name, field in zip(table.column_names, table.schema, strict=True):
            try:
                convert(table.select([name]))
            except BaseException as reason:
                if _is_of_values(reason):
                    said = str(reason).partition("\n")[0]
                    raise UnsupportedFeature(
                        f"Column {name!r} of type {field.type} does not fit {library}: {said}. Leave it out, or cast it"
                        " in Arrow"
                    ) from error
        raise


def _is_of_values(error: BaseException) -> bool:
    """Whether an error is about values. Polars has its own errors, and panics with one that is not an `Exception`."""
    kinds = (pa.ArrowException, ValueError, OverflowError)
    return isinstance(error, kinds) or type(error).__name__ in ("PanicException", "ComputeError")


def library(name: str) -> Any:
    """Imports a module of a library.

    raises: MissingDependency
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependency(f"{name} is not installed: pip install {name.partition('.')[0]}") from error
