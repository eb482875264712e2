"""Column names, with or without case, depending on `spark.sql.caseSensitive`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession


def spelled(session: SparkSession, name: str, names: Sequence[str]) -> str:
    """Returns a column's name in the table's spelling, or the name itself if the table has no such column."""
    if name in names or str(session.conf.get("spark.sql.caseSensitive")).lower() == "true":
        return name
    return next((each for each in names if each.lower() == name.lower()), name)


def as_spelled(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Renames the columns of a frame to the table's spelling."""
    session = frame.sparkSession
    spelled_names = [spelled(session, name, names) for name in frame.columns]
    return frame if spelled_names == frame.columns else frame.toDF(*spelled_names)
