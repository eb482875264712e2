"""Local sessions: Spark's own, which needs Java, or Sail, a Spark Connect server that needs none.

Sail (pysail) runs in this process, and so do Python sources and functions. Features that it lacks raise an error that
names them: streams of Lance tables.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from lance_sql.errors import InvalidArgument, MissingDependency, install_command
from lance_sql.values.keywords import suggests_keywords

Kind: TypeAlias = Literal["auto", "spark", "sail"]

_KINDS: Final = ("auto", "spark", "sail")


@suggests_keywords
def session(kind: Kind = "auto", config: Mapping[str, str] | None = None) -> Any:
    """Opens a local session with the format "lance", or returns the active one of its kind.

    kind: "spark", "sail", or "auto" for Spark if it can run, and Sail otherwise
    config: of the session; the time zone is UTC by default
    raises: MissingDependency

    >>> spark = lance_sql.spark.session("sail")  # doctest: +SKIP
    >>> spark.read.format("lance").load("examples/orders.lance").count()  # doctest: +SKIP
    370
    """
    if kind not in _KINDS:
        raise InvalidArgument(f"kind={kind!r} is not one of {', '.join(map(repr, _KINDS))}")
    reason = why_not(kind)
    if reason is not None:
        raise MissingDependency(reason)
    spark_session = _sail() if chosen(kind) == "sail" else _spark(config or {})
    from . import data_source as provider

    if chosen(kind) == "sail":
        for name, value in {"spark.sql.session.timeZone": "UTC", **(config or {})}.items():
            spark_session.conf.set(name, value)
    return provider.register(spark_session)


def chosen(kind: Kind) -> Literal["spark", "sail"]:
    """Resolves "auto" to a kind."""
    if kind != "auto":
        return kind
    return "spark" if _has_spark() or not _has_sail() else "sail"


def why_not(kind: Kind) -> str | None:
    """Returns the reason why a session of this kind is impossible, or None if it is possible."""
    if chosen(kind) == "sail":
        return None if _has_sail() else _no_sail()
    if _has_spark():
        return None
    no_spark = f"Spark needs Java 17, and {install_command('spark')}"
    return f"{no_spark}. {_no_sail()}" if kind == "auto" else no_spark


def _has_spark() -> bool:
    """Whether PySpark is installed with its Java part, and Java."""
    spec = importlib.util.find_spec("pyspark")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    has_jars = any(os.path.isdir(os.path.join(folder, "jars")) for folder in folders)
    return has_jars and (shutil.which("java") is not None or "JAVA_HOME" in os.environ)


def _has_sail() -> bool:
    return importlib.util.find_spec("pysail") is not None and importlib.util.find_spec("pyspark") is not None


def _spark(config: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    # the local workers must find the packages of this process
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    # for small data, Spark's default of 200 tasks for each join would take longer than the work
    settings = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
    for name, value in {**settings, **config}.items():
        builder = builder.config(name, value)
    spark_session = builder.master("local[2]").getOrCreate()
    spark_session.sparkContext.setLogLevel("ERROR")
    return spark_session


@cache
def _sail_server() -> Any:
    """Starts the server of this process, which runs until the process ends."""
    os.environ.setdefault("RUST_LOG", "error")
    from pysail.spark import SparkConnectServer

    server = SparkConnectServer()
    server.start(background=True)
    return server


def _sail() -> Any:
    from pyspark.sql import SparkSession

    _, port = _sail_server().listening_address
    builder: Any = SparkSession.builder
    return builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()


def _no_sail() -> str:
    return f"Sail is not installed: {install_command('sail')}, in an environment without pyspark"
