"""Spark as an engine of the library."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from ..adapter import Adapter
from ..attached import Names


class Spark(Adapter):
    """Spark's SQL, in a session that is given, the active one, or a new one."""

    name: ClassVar = "spark"
    title: ClassVar = "Spark"
    connection: ClassVar = "a SparkSession"
    modules: ClassVar = frozenset({"pyspark"})
    folder: ClassVar = "lance_sql.providers.spark"
    extra: ClassVar = "spark"
    registers_in: ClassVar = "data_source"

    runs_as_typed: ClassVar = True
    has_workers: ClassVar = True
    instead: ClassVar = "lance_sql.spark.LanceTable"

    def names(self, target: Any) -> Names:
        return _Names(target)


class _Names(Names):
    def moment(self, text: str) -> str | None:
        # TIMESTAMP is of this type
        return text


ADAPTER: Final = Spark()
