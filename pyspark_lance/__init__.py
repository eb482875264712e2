"""Where PySpark looks for the format "lance": `spark.read.format("lance")` works without any registration.

Filters are pushed down only after `lance_sql.register(spark)`, which switches that on in the session.
"""

from lance_sql.providers.spark import LanceDataSource as DefaultSource

__all__ = ["DefaultSource"]
