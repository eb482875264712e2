"""Sail: Spark's SQL and Python sources without Java, by the modules of `spark`."""
