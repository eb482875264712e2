"""Where PySpark looks for the format "lance": `spark.read.format("lance")` works without any registration."""

from lance_sql.providers.spark.data_source import LanceDataSource as DefaultSource

__all__ = ["DefaultSource"]
