"""The module in which PySpark finds the format "lance": `spark.read.format("lance")` works without registration."""

from lance_sql.providers.spark.data_source import LanceDataSource as DefaultSource

__all__ = ["DefaultSource"]
