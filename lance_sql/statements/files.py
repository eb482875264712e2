"""What every change that writes data files needs: their version, the ids that rows carry into them, and their removal
when the commit loses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from lance_sql.errors import CommitConflict, InvalidArgument, UnsupportedFeature
from lance_sql.statements.fragments import FragmentWriter
from lance_sql.statements.rows import U64
from lance_sql.table import row_ids
from lance_sql.table.fragments import Fragment
from lance_sql.table.snapshot import Snapshot

WRITTEN_VERSIONS = ("2.0", "2.1", "2.2")

REFUSALS = (CommitConflict, InvalidArgument, UnsupportedFeature)
"""What a commit raises when nothing was committed. After anything else it may have happened all the same, so that the
files that it names have to stay."""


def file_version(snapshot: Snapshot) -> str:
    """The version of new data files of a table: a table keeps its own.

    raises: UnsupportedFeature for versions that are read only
    """
    version = snapshot.manifest.data_format
    if version not in WRITTEN_VERSIONS:
        raise UnsupportedFeature(
            f"{snapshot.name} has data files of version {version}, which this release reads but does not write. "
            f"Copy it: lance_sql.write(lance_sql.open({snapshot.uri!r}), ...)"
        )
    return version


@contextmanager
def writing(writer: FragmentWriter) -> Iterator[FragmentWriter]:
    """The writer, whose files are removed when the block fails while it writes them, or when its commit is refused."""
    try:
        yield writer
    except REFUSALS:
        writer.abort()
        raise
    except BaseException:
        if not writer.is_finished:
            writer.abort()
        raise


def carrying(snapshot: Snapshot, fragments: Sequence[Fragment], ids: Sequence[U64]) -> tuple[Fragment, ...]:
    """New fragments that carry the ids of rows that were moved into them, where the table has stable ids.

    ids: of the first rows of the fragments, in order; the rows behind them are new ones
    """
    if not snapshot.manifest.has_stable_row_ids:
        return tuple(fragments)
    left = np.concatenate(ids) if ids else np.empty(0, np.uint64)
    carried = []
    for fragment in fragments:
        own, left = left[: fragment.physical_rows], left[fragment.physical_rows :]
        carried.append(replace(fragment, row_ids=row_ids.serialize(own)) if len(own) else fragment)
    return tuple(carried)
