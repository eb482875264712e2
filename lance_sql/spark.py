"""Lance tables in PySpark, as a separate import: `from lance_sql.spark import LanceTable`.

>>> import lance_sql.spark  # doctest: +SKIP
>>> lance_sql.spark.read_changes(spark, "events.lance", since=41).groupBy("_change_type").count()  # doctest: +SKIP

raises: MissingDependency if PySpark is not installed
"""

from __future__ import annotations

from lance_sql.errors import missing_package

try:
    from lance_sql.providers import read_spark as read
    from lance_sql.providers.spark.data_source import register
    from lance_sql.providers.spark.errors import short_errors
    from lance_sql.providers.spark.frames import read_changes, write
    from lance_sql.providers.spark.merge import MergeBuilder
    from lance_sql.providers.spark.sessions import session
    from lance_sql.providers.spark.tables import LanceTable
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "pyspark":
        raise
    raise missing_package("PySpark is not installed", "spark") from error

__all__ = ["LanceTable", "MergeBuilder", "read", "read_changes", "register", "session", "short_errors", "write"]
