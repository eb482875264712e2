"""Row versions: the table versions that inserted and last changed each row.

Stored as runs over the physical rows of a fragment, including deleted rows:

    run   span {range 0..2}   version 1          rows 0, 1     1
          span {range 2..3}   version 4    ->    row  2        4

Only the number of values in a span counts. The values themselves may overlap or leave gaps, since compaction
cuts spans out of older fragments.

Source: message lance.table.RowDatasetVersionSequence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lance_sql.errors import CorruptFile, at
from lance_sql.format.proto import row_ids_pb2
from lance_sql.table import segments
from lance_sql.values import row_ranges
from lance_sql.values.arrays import I64, U64

# Version of rows written before versions were recorded.
DEFAULT_VERSION = 1


@dataclass(frozen=True, slots=True, eq=False)
class RowVersions:
    """Runs of equal versions.

    versions: uint64[k], the version of each run
    lengths: int64[k], its number of rows, all positive; they add up to the physical rows
    """

    versions: U64
    lengths: I64

    @property
    def num_rows(self) -> int:
        """Number of physical rows."""
        return int(self.lengths.sum())

    @property
    def num_bytes(self) -> int:
        """Memory of the runs."""
        return self.versions.nbytes + self.lengths.nbytes

    def bounds(self) -> tuple[int, int] | None:
        """Returns the least and greatest version; None without rows."""
        if not len(self.versions):
            return None
        return int(self.versions.min()), int(self.versions.max())

    def expand(self, start: int = 0, end: int | None = None) -> U64:
        """Returns the versions of the physical rows [start, end)."""
        end = self.num_rows if end is None else end
        row_ranges.check_held(end - start)
        run_ends = self.lengths.cumsum()
        run_starts = run_ends - self.lengths
        inside = np.minimum(run_ends, end) - np.maximum(run_starts, start)
        return self.versions.repeat(np.maximum(inside, 0))

    def runs(self) -> tuple[I64, U64]:
        """Returns the first row of each run, and its version."""
        return self.lengths.cumsum() - self.lengths, self.versions

    def take(self, offsets: npt.NDArray[np.integer]) -> U64:
        """Returns the versions of the rows at these physical offsets, which must be below `num_rows`."""
        runs = self.lengths.cumsum().searchsorted(offsets, side="right")
        return self.versions[runs]


def parse(data: bytes, num_rows: int) -> RowVersions:
    """Parses versions from a serialized sequence.

    Some writers have stored sequences that do not fit the fragment. The last run of a short one extends to the end;
    values past the end are dropped.

    num_rows: physical rows of the fragment
    raises: CorruptFile for bytes that are not a sequence, and for one without runs for a fragment with rows
    """
    versions, lengths = [], []
    missing = num_rows
    with at():
        for run in row_ids_pb2.RowDatasetVersionSequence.FromString(data).runs:
            length = min(segments.parse(run.span).num_values, missing)
            if length:
                versions.append(run.version)
                lengths.append(length)
                missing -= length
    if missing and not versions:
        raise CorruptFile(f"the row version sequence is empty, but the fragment has {num_rows} rows")
    if missing:
        lengths[-1] += missing
    return RowVersions(np.array(versions, np.uint64), np.array(lengths, np.int64))


def serialize(versions: RowVersions) -> bytes:
    """Serializes versions, with one run for each stretch of equal versions."""
    message = row_ids_pb2.RowDatasetVersionSequence()
    changes = (versions.versions[1:] != versions.versions[:-1]).nonzero()[0] + 1
    firsts = np.concatenate(([0], changes))[: len(versions.versions)]
    run_ends = versions.lengths.cumsum()
    starts = np.concatenate(([0], run_ends))[firsts].tolist()
    for start, end, version in zip(
        starts, [*starts[1:], versions.num_rows], versions.versions[firsts].tolist(), strict=False
    ):
        run = message.runs.add(version=version)
        run.span.range.start = start
        run.span.range.end = end
    return bytes(message.SerializeToString())


def stored_rows(data: bytes) -> int:
    """Returns the number of rows that a serialized sequence covers, which may differ from the fragment's.

    raises: CorruptFile for bytes that are not a sequence
    """
    with at():
        runs = row_ids_pb2.RowDatasetVersionSequence.FromString(data).runs
        return sum(segments.parse(run.span).num_values for run in runs)


def from_values(versions: U64) -> RowVersions:
    """Returns the versions of a hidden column, one per physical row."""
    starts = np.diff(versions, prepend=versions[:1] + np.uint64(1)).nonzero()[0]
    return RowVersions(versions[starts], np.diff(starts, append=len(versions)))


def concatenate(parts: Sequence[RowVersions]) -> RowVersions:
    """Concatenates the versions of consecutive rows."""
    if not parts:
        return constant(0)
    return RowVersions(
        np.concatenate([part.versions for part in parts]), np.concatenate([part.lengths for part in parts])
    )


def constant(num_rows: int, version: int = DEFAULT_VERSION) -> RowVersions:
    num_runs = 1 if num_rows else 0
    return RowVersions(np.full(num_runs, version, np.uint64), np.full(num_runs, num_rows, np.int64))
