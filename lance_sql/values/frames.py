"""Rows as frames of other libraries, which are imported when they are asked for."""

from __future__ import annotations

from abc import abstractmethod
from importlib import import_module
from typing import Any

import pyarrow as pa

from lance_sql.errors import MissingDependency


class Frames:
    """What everything that has rows offers beside Arrow."""

    @abstractmethod
    def to_table(self) -> pa.Table:
        """All rows in memory."""

    def to_pandas(self, **options: Any) -> Any:
        """All rows as a DataFrame of pandas.

        options: of `pyarrow.Table.to_pandas`, such as `types_mapper`
        raises: MissingDependency
        """
        _library("pandas")
        return self.to_table().to_pandas(**options)

    def to_polars(self) -> Any:
        """All rows as a DataFrame of Polars.

        raises: MissingDependency
        """
        return _library("polars").from_arrow(self.to_table())


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingDependency(f"{name} is not installed: pip install {name}") from error
