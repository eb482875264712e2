"""Names of columns, with or without their case, as `spark.sql.caseSensitive` says."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession


def spelled(session: SparkSession, name: str, names: Sequence[str]) -> str:
    """A column's name as a table has it; as it is where the table has none of that name."""
    if name in names or str(session.conf.get("spark.sql.caseSensitive")).lower() == "true":
        return name
    return next((each for each in names if each.lower() == name.lower()), name)


def as_spelled(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """The frame with its columns spelled as a table has them."""
    session = frame.sparkSession
    spelled_names = [spelled(session, name, names) for name in frame.columns]
    return frame if spelled_names == frame.columns else frame.toDF(*spelled_names)
