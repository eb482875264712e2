"""Streams of Spark into a table: each batch is one version, committed once, however often Spark retries it.

    frame.writeStream.format("lance").option("checkpointLocation", ...).start("events.lance")

Spark numbers the batches of a query, and after a restart writes one again if the outcome is unknown. The option
`txnAppId`, or else the id of the query, which its checkpoint stores, names the writer, because the numbers alone are
the same in every query. A committed batch is not written again. Another checkpoint starts at batch 0 again. A
`txnAppId` therefore belongs to one checkpoint: batches of another query that count as committed are an error.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from lance_sql.errors import InvalidArgument
from lance_sql.jobs.write_job import NewFragments, Turn, WriteJob

from .writes import Begun

_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"


@dataclass
class WrittenBatch(WriterCommitMessage):
    """Files of a batch that one task wrote.

    app_id: the name of the writer
    query: the id of the query; None if Spark does not pass it
    """

    job: WriteJob
    app_id: str
    query: str | None
    fragments: NewFragments


class LanceStreamWriter(DataSourceStreamArrowWriter):
    """Writes data files in the tasks, and one version for each batch in the driver.

    app_id: name of the writer; defaults to the id of the query
    """

    def __init__(self, begun: Begun, app_id: str | None) -> None:
        self._begun = begun
        self._app_id = app_id

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenBatch:
        query = _property(_QUERY)
        app_id = self._app_id or query
        batch = _property(_BATCH)
        if app_id is None or batch is None:
            raise InvalidArgument(
                "Spark does not pass the id of the query to its tasks, so a retried batch would be written twice: name"
                " the query with option('txnAppId', ...), or write with foreachBatch"
            )
        # every batch has its own job, even if Spark created this writer for another batch
        job = dataclasses.replace(self._begun.job, id=uuid5(UUID(self._begun.job.id), batch).hex)
        return WrittenBatch(job, app_id, query, job.write_fragments(self._begun.reader(iterator)))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        written = [message for message in messages if isinstance(message, WrittenBatch)]
        if not written:
            return
        job = dataclasses.replace(written[0].job, turn=Turn(written[0].app_id, batchId, written[0].query))
        fragments = [fragment for message in written for fragment in message.fragments]
        if fragments or job.target.snapshot is None or job.target.mode == "overwrite":
            job.commit(fragments)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        batch = next((message for message in messages if isinstance(message, WrittenBatch)), None)
        if batch is not None:
            batch.job.abort()


def _property(name: str) -> str | None:
    """Returns a property that Spark passes to tasks of a query, or None if it does not."""
    context = TaskContext.get()
    return context.getLocalProperty(name) if context is not None else None
