"""Spark's daemon of Python workers, which has imported before it forks what every worker imports after.

Spark has a daemon for each thing that its planner asks a source, and ends workers that were idle for a minute or had an
error. To import the library, Arrow and pandas takes longer than most of what a worker does in tests. The threads that
are there by then, of an allocator and of linear algebra, are made again in a fork by the libraries that have them.
"""

from __future__ import annotations

from pyspark import daemon

if __name__ == "__main__":
    import pyspark.worker  # noqa: F401 - for the workers

    import lance_sql.providers.spark.data_source
    import lance_sql.spark  # noqa: F401 - for the workers

    daemon.manager()
