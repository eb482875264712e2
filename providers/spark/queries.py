"""Queries in Spark over open tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from lance_sql.dataset import Dataset
from lance_sql.runtime.caches import LruCache

from ..adapter import Request
from ..sources import Source
from . import data_source as spark
from . import types as spark_types
from .errors import short_errors
from .workers import is_remote

_MOST_FRAMES: Final = 64
_FRAMES: Final = "_lance_sql_frames"
"""The attribute of a session that caches frames of versions, by version and request. Versions are immutable, and Spark
starts a Python process for each new frame. Frames refer to their session, so the cache belongs to the session."""
_lock: Final = Lock()

Errors = (AnalysisException, ParseException)
"""Errors that Spark raises for rejected statements."""


def target(given: Any) -> SparkSession:
    """Returns the given session, the active one, or a new one.

    raises: MissingDependency if Spark's workers run a Python without this package
    """
    session: Any = SparkSession.builder
    return spark.register(session.getOrCreate() if given is None else given)


def prepare(session: SparkSession, request: Request) -> tuple[Sequence[str], Callable[[], pa.RecordBatchReader]]:
    """Plans a query. Returns its columns, and a function that runs it on each call.

    raises: Errors for a query that Spark cannot analyze
    """
    frames = {name: _frame(session, source) for name, source in request.sources.items()}
    with _named(session, frames), short_errors():
        frame = session.sql(request.sql)
        # raises errors of the analysis here, rather than with the rows
        names = frame.schema.names

    def read() -> pa.RecordBatchReader:
        # a remote session analyzes a frame again when it runs
        with _named(session, frames if is_remote(session) else {}), short_errors():
            return frame.toArrow().to_reader()

    return names, read


@contextmanager
def _named(session: SparkSession, frames: Mapping[str, DataFrame]) -> Iterator[None]:
    """Registers frames as views of the session."""
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        yield
    finally:
        for name in frames:
            session.catalog.dropTempView(name)


def column_types(session: SparkSession, source: Source) -> dict[str, str]:
    """Returns no types: Spark assigns by another rule than it casts, and its values are cast when they arrive."""
    return {}


def _frame(session: SparkSession, source: Source) -> DataFrame:
    relation = source.relation
    if isinstance(relation, Dataset):
        names = (*relation.schema.names, *(relation.system_columns if source.with_system_columns else ()))
        # a frame without columns has no rows in Spark
        columns = [name for name in names if source.columns is None or name in source.columns] or ["_rowid"]
        return _of_version(session, relation, columns, source.where)
    if source.changes is not None:
        asked = source.changes
        where = None if asked.kind is None else f"_change_type = '{asked.kind}'"
        return spark.read_changes(session, asked.dataset, source.columns or None, where, asked.arguments)
    # the format "lance" does not support other relations, so their rows are computed here
    return _local(session, relation if isinstance(relation, pa.Table) else relation.scan().to_table())


def _of_version(session: SparkSession, dataset: Dataset, columns: Sequence[str], where: str | None) -> DataFrame:
    manifest = dataset.snapshot.manifest
    # a table that was dropped and created again has versions with the same numbers
    version = (dataset.uri, dataset.branch, dataset.version, manifest.transaction_file, manifest.timestamp)
    key = (*version, repr(dataset.snapshot.access), tuple(columns), where)
    with _lock:
        frames: LruCache[Any, DataFrame] = vars(session).setdefault(
            _FRAMES, LruCache("frames of Spark", most_entries=_MOST_FRAMES)
        )
        frame = frames.get(key)
    if frame is None:
        frame = spark.read(session, dataset, columns, where)
        with _lock:
            frames.put(key, frame)
    return frame


def _local(session: SparkSession, table: pa.Table) -> DataFrame:
    """Creates a frame from rows of this process."""
    versions = [field.name for field in table.schema if field.type == pa.uint64()]
    schema = spark_types.spark_schema(table.schema, bigints=versions)
    target = spark_types.arrow_schema(schema)
    batches = [spark_types.cast(batch, target) for batch in table.combine_chunks().to_batches()]
    return session.createDataFrame(pa.Table.from_batches(batches, target), schema=schema)
