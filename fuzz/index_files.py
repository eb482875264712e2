"""Files of scalar indices: with any contents, filters find the rows that pass, without an error.

An index whose file is damaged is not used, and the rows that it leaves are tested by the filter. Some may be missing
where a damaged value or row number is a valid one: the files have no checksums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from fuzz.inputs import Values
from fuzz.mutations import damage, damage_count, data_file_cuts, is_legacy
from fuzz.tables import store_of
from lance_sql.dataset import Dataset
from lance_sql.format.index_files import writing
from lance_sql.format.index_files.index_file import IndexFile
from lance_sql.store import MemoryStore
from lance_sql.table.indices import IndexSegment
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import list_versions
from tests.damaged import messages
from tests.damaged.tables import damaged

_CONDITIONS: Final = {
    "i": ("i = 7", "i < 40 OR i IS NULL", "i IN (3, 60, 999)", "NOT (i > 20)"),
    "f": ("f = 1.5", "f > 100", "f = 'nan'::DOUBLE", "f IS NULL OR f < 0"),
    "s": (
        "s = 'text 3'",
        "s LIKE 'text 1%'",
        "s LIKE '%ext%5' OR contains(s, 'tex')",
        "s IS NULL",
        "s > 'text 4' AND s < 'x'",
    ),
    "t": ("t = '1970-01-01 00:00:07'", "t < '1970-01-01 00:00:40'", "t IS NULL"),
    "l": ("list_contains(l, 'new')", "list_contains(l, 'a')"),
}
# Columns that a damaged file may claim.
_NOTES: Final = (
    "rows_per_zone", "null_bitmap", "batch_size", "range_partitioned", "bloomfilter_item", "bloomfilter_probability",
    "lance:index_stats", "lance:label_list_nulls",
)  # fmt: skip
_ODD_NOTES: Final = ("", "0", "1", "2", "-1", "99999999999999999999", "4096", "true", "x", "\u0663")


class Nothing(Exception):  # noqa: N818 - no error at all is allowed
    """Errors that a filter may raise because of an index."""


class _OfAnySize(Snapshot):
    """A version whose manifest does not record the sizes of index files."""

    def indices(self) -> tuple[IndexSegment, ...]:
        return tuple(replace(each, file_sizes={}) for each in super().indices())


def read(values: Values) -> None:
    """Filters by the index, and without it."""
    column = str(values["column"])
    with_index, without = (open_dataset(values, use_indices=use) for use in (True, False))
    for condition in _CONDITIONS[column]:
        expected = without.scan(["k"], condition).to_table()["k"].to_pylist()
        found = with_index.scan(["k"], condition).to_table()["k"].to_pylist()
        missing = iter(expected)
        assert all(key in missing for key in found), f"rows that do not pass {condition}, or in another order"


def verify(values: Values) -> None:
    """Reads all of the index, as `lance_sql.verify` does."""
    opened = open_dataset(values, use_indices=True).snapshot.open_indices
    for segment in opened.segments:
        opened.verify(segment, deep=True)


def mutate(rng: np.random.Generator, values: Values) -> Values:
    """Damaged bytes of an index file, damaged metadata of its pages, or valid files with other contents."""
    path = str(rng.choice(_paths(values)))
    content = values[path]
    assert isinstance(content, bytes)
    chosen = rng.random()
    if chosen < 0.5:
        return {**values, path: _with_other_content(rng, content)}
    if chosen < 0.7 and not is_legacy(content):
        return {**values, path: messages.damage_columns(rng, content)}
    if chosen < 0.85:
        weights = np.ones(len(content))
        for bound in data_file_cuts(content):
            weights[bound : bound + 16] += 10
        return {**values, path: damaged(rng, content, weights / weights.sum())}
    return {**values, path: damage(rng, content)}


def file_cuts(values: Values) -> Iterator[tuple[str, int]]:
    """Positions at which index files are cut."""
    for path in _paths(values):
        content = values[path]
        assert isinstance(content, bytes)
        yield from ((path, length) for length in data_file_cuts(content))


def _with_other_content(rng: np.random.Generator, content: bytes) -> bytes:
    """A file that can be read as well, with other columns, notes or buffers."""
    file = IndexFile(MemoryStore({"f": content}), "f")
    columns = dict(zip(file.names, file.read(file.names), strict=True))
    notes = {key: note for key in _NOTES if (note := file.note(key)) is not None}
    buffers = [file.buffer(1)] if "null_bitmap" in notes or "lance:label_list_nulls" in notes else []
    for _ in range(rng.integers(1, 3)):
        kind = int(rng.integers(6))
        if kind == 0 and notes:
            notes[str(rng.choice(list(notes)))] = str(rng.choice(_ODD_NOTES))
        elif kind == 1 and buffers:
            buffers = [damage(rng, buffers[0])]
        elif kind == 2:
            num_rows = len(next(iter(columns.values())))
            places = rng.integers(0, max(num_rows, 1), int(rng.integers(0, 2 * num_rows + 1)))
            columns = {name: array.take(pa.array(places)) for name, array in columns.items()}
        else:
            name = str(rng.choice(list(columns)))
            columns[name] = _CHANGES[int(rng.integers(len(_CHANGES)))](rng, columns[name])
    store = MemoryStore({})
    schema = pa.schema([pa.field(name, array.type) for name, array in columns.items()])
    batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)
    version = "2.1"
    writing.write(store, "f", schema, [batch], file_version=version, notes=notes, buffers=buffers)
    return bytes(store.tail("f", 1 << 30)[1])


def _with_null(rng: np.random.Generator, array: pa.Array) -> pa.Array:
    places = pa.array(np.arange(len(array)), mask=rng.random(len(array)) < 0.2)
    return array.take(places)


def _with_other_item(rng: np.random.Generator, array: pa.Array) -> pa.Array:
    """One item is another one: an odd number, damaged bytes, or the item of another place."""
    items = array.to_pylist()
    if not items:
        return array
    at = int(rng.integers(len(items)))
    item = items[at]
    if isinstance(item, bytes):
        items[at] = damage(rng, item)
    elif isinstance(item, int) and pa.types.is_integer(array.type) and rng.random() < 0.8:
        bits = array.type.bit_width
        number = damage_count(rng, item) % 2**bits
        items[at] = number - 2**bits if pa.types.is_signed_integer(array.type) and number >= 2 ** (bits - 1) else number
    else:
        items[at] = items[int(rng.integers(len(items)))]
    return pa.array(items, array.type)


def _of_other_type(rng: np.random.Generator, array: pa.Array) -> pa.Array:
    others = (pa.int8(), pa.int64(), pa.float32(), pa.string(), pa.binary(), pa.bool_(), pa.timestamp("us"))
    type = others[int(rng.integers(len(others)))]
    try:
        # texts have to be texts, or they could not be read here either
        return array.cast(type, safe=pa.types.is_string(type))
    except pa.ArrowException:
        return pa.nulls(len(array), type)


_CHANGES: Final[tuple[Callable[[np.random.Generator, pa.Array], pa.Array], ...]] = (
    _with_null,
    _with_other_item,
    _with_other_item,
    _with_other_item,
    _of_other_type,
)


def open_dataset(values: Values, *, use_indices: bool) -> Dataset:
    """The newest version of a table in memory."""
    store = store_of(values)
    return Dataset(_OfAnySize(store.uri, store, store, list_versions(store)[-1], use_indices=use_indices))


def _paths(values: Values) -> list[str]:
    return sorted(path for path in values if path.startswith("_indices/"))
