"""Matched rows that already have the values of a merge: they are not rewritten."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_sql.format.schema import Field
from lance_sql.reads.scan.projection import resolve
from lance_sql.reads.scan.take import take_at
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import selection
from lance_sql.values.arrays import I64, U64, BoolMask
from lance_sql.values.equal_values import same


def differing(snapshot: Snapshot, names: Sequence[str], addresses: U64, rows: pa.Table, numbers: I64) -> BoolMask:
    """Returns for each row of a version whether a new row has another value in some columns: bool[addresses].

    Reads one column after the other, only for rows that are equal so far.

    names: of top-level columns, which `rows` have in the table's types
    addresses: of existing rows, as many as fit in memory
    numbers: index in `rows` of the new row of each
    raises: CorruptFile, UnsupportedFeature
    """
    fields = {field.name: field for field in snapshot.manifest.schema.fields}
    differ = np.zeros(len(addresses), np.bool_)
    if any(_has_blobs(fields[name]) for name in names):
        # their bytes are only read on demand
        return ~differ
    columns = resolve(snapshot, names)
    # columns that decode fastest come first, and distinguish most rows
    order = sorted(range(len(names)), key=lambda i: (not pa.types.is_primitive(columns[i].arrow.type), i))
    left = np.arange(len(addresses))
    for i in order:
        if len(left) == 0:
            break
        old = take_at(snapshot, [columns[i]], addresses[left]).column(0)
        new = selection.take(rows.select([names[i]]), pa.array(numbers[left])).column(0)
        is_same = (
            same(selection.whole(old), selection.whole(new)) if old.type == new.type else np.zeros(len(left), np.bool_)
        )
        differ[left[~is_same]] = True
        left = left[is_same]
    return differ


def _has_blobs(field: Field) -> bool:
    return field.is_blob_v1 or field.is_blob_v2 or any(map(_has_blobs, field.children))
