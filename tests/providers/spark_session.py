"""A Spark session for tests: two threads in this process, and no user interface."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import lance_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A session of tests is over before code pays back what its best compiler and collector cost: a third of the time."""


@contextmanager
def spark_session(master: str = "local[2, 2]", **config: str) -> Iterator[SparkSession]:
    """A session in which a task may fail once; skips the test where there is no Java."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: apt-get install openjdk-17-jre-headless")
    from pyspark.sql import SparkSession

    patch = pytest.MonkeyPatch()
    patch.setenv("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    builder = (
        builder.master(master)
        .config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
        .config("spark.python.daemon.module", "tests.providers.spark_daemon")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
    )
    for name, value in config.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield lance_sql.register(session)
    session.stop()
    patch.undo()
