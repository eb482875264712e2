"""Targets that are whole tables in memory: manifests, their sections, metadata of data files, pages.

An input has the files of the table by their paths, and `num_rows` that a reader must find if it finds any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from tempfile import NamedTemporaryFile

import numpy as np
import pyarrow as pa

from fuzz.inputs import Values
from fuzz.mutations import cuts, damage, data_file_cuts, is_legacy
from lance_sql.dataset import Dataset
from lance_sql.errors import LanceError
from lance_sql.format.file import column_rows, small_files
from lance_sql.format.file.leaves import join
from lance_sql.format.file.reader import FileReader
from lance_sql.format.file.small_files import SmallFile
from lance_sql.format.proto import table_pb2, transaction_pb2
from lance_sql.format.schema import Field
from lance_sql.store import ByteRange, MemoryStore
from lance_sql.table.listed_columns import FieldsToRead
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import list_versions
from lance_sql.values import row_ranges
from lance_sql.values.equal_values import same
from lance_sql.values.row_ranges import RowRanges
from tests.damaged import messages
from tests.damaged.tables import damaged, manifest_file, metadata_start

_MOST_ROWS = 200_000

# Values are what they are: a damaged character or digit is none of a reader's business.
_ABOUT_VALUES = ("UTF8", "UTF-8", "Decimal value")


class _ExactStore(MemoryStore):
    """Every range in its own memory, so that reads past its end are detected."""

    def get_ranges(self, path: str, ranges: Sequence[ByteRange]) -> list[pa.Buffer]:
        return [_copy(buffer) for buffer in super().get_ranges(path, ranges)]

    def tail(self, path: str, num_bytes: int, *, size: int | None = None) -> tuple[int, pa.Buffer]:
        size, buffer = super().tail(path, num_bytes, size=size)
        return size, _copy(buffer)


def _copy(buffer: pa.Buffer) -> pa.Buffer:
    return pa.py_buffer(np.frombuffer(buffer, np.uint8).copy())


def read_rows(values: Values) -> None:
    """Reads all rows, some rows, and rows by their history."""
    table = dataset_of(values)
    num_rows = 0
    for batch in table.scan().to_reader():
        num_rows += batch.num_rows
        _check(batch)
        if num_rows > _MOST_ROWS:
            return
    assert values["num_rows"] in (None, num_rows), f"{num_rows} rows"
    ids = table.scan(["_rowid"]).to_table()["_rowid"]
    some = ids.take(pa.array(range(0, len(ids), 1 + len(ids) // 7), pa.int64()))
    assert table.take(some).num_rows >= len(some)
    table.scan(["_rowaddr"], "_rowid > 1").to_table()
    if table.snapshot.manifest.has_stable_row_ids:
        table.scan(["_rowaddr"], "_row_created_at_version < 5").to_table()


def read_sections(values: Values) -> None:
    """Reads metadata: transactions, indices, tags, branches."""
    snapshot = dataset_of(values).snapshot
    for read in (snapshot.transaction, snapshot.indices, snapshot.tags, snapshot.branches, snapshot.versions):
        read()


def read_metadata(values: Values) -> None:
    """Parses the metadata and the page layouts of every column, and decodes nothing."""
    snapshot = dataset_of(values).snapshot
    for fragment in snapshot.manifest.fragments:
        rows = snapshot.open(fragment)
        for column in snapshot.manifest.schema.fields:
            for stored in rows.columns_of(column):
                _ = stored.row_starts, stored.row_bytes, stored.has_dictionaries(100)


def read_opened(values: Values) -> None:
    """Reads rows of columns that the kernels open together, or read with their small files at once, and compares them
    with those that are opened one by one."""
    snapshot, other = dataset_of(values).snapshot, dataset_of(values).snapshot
    fields = snapshot.manifest.schema.fields
    for fragment in snapshot.manifest.fragments:
        opened, one_by_one = snapshot.open(fragment), other.open(fragment)
        if not 2 <= opened.num_rows <= _MOST_ROWS:
            continue
        middle = opened.num_rows // 2
        for rows in (row_ranges.single(0, opened.num_rows), np.array([[0, 1], [middle, middle + 1]], np.int64)):
            found = opened.read(FieldsToRead(fields), rows)
            _check(pa.record_batch(found, [field.name for field in fields]))
            for field, array in zip(fields, found, strict=True):
                try:
                    expected = _opened_one_by_one(one_by_one, field, rows)
                except LanceError:
                    continue
                assert same(array, expected).all(), f"column {field.name!r} has other values"
        for field in fields:
            at_once = _read_at_once(values, opened, field)
            if at_once is not None:
                expected = _opened_one_by_one(one_by_one, field, row_ranges.single(0, opened.num_rows))
                assert same(at_once, expected).all(), f"column {field.name!r} has other values"


def _read_at_once(values: Values, fragment: OpenFragment, field: Field) -> pa.Array | None:
    """Reads a column together with opening its file, as scans read small files; None if that is not possible."""
    for number, plain in FieldsToRead([field]).plain_columns(fragment.listed).items():
        with NamedTemporaryFile(buffering=0) as file:
            file.write(_bytes(values, f"data/{fragment.fragment.files[number].path}"))
            (is_read,), arrays = small_files.read([SmallFile(file.name, fragment.num_rows, plain.columns)])
            return plain.finished(arrays)[0] if is_read else None
    return None


class _OneByOne:
    """Leaves columns closed, so that Python opens them."""

    def of_file(self, file: FileReader) -> None:
        """See `open_pages.Opening`."""


def _opened_one_by_one(fragment: OpenFragment, field: Field, rows: RowRanges) -> pa.Array:
    columns = fragment._stored(field, None).columns
    arrays = {
        id: column_rows._read([column_rows._pieces(column, rows, _OneByOne())])[0] for id, column in columns.items()
    }
    return join(field, arrays, row_ranges.count(rows))


def damage_manifest(rng: np.random.Generator, values: Values) -> Values:
    path = _manifest(values)
    change = damage if rng.random() < 0.4 else messages.damage_manifest
    return {**values, path: change(rng, _bytes(values, path)), "num_rows": None}


def damage_section(rng: np.random.Generator, values: Values) -> Values:
    """A transaction, the index section, or a tag."""
    paths = _sections(values)
    path = paths[int(rng.integers(len(paths)))]
    content = _bytes(values, path)
    if path.endswith(".manifest"):
        (position,) = np.frombuffer(content[-16:-8], "<u8")
        if rng.random() < 0.7 and position:
            # in place: the message after the sections does not move
            changed = damage(rng, content[: int(position)])[: int(position)].ljust(int(position), b"\0")
            content = changed + content[int(position) :]
        else:
            content = messages.damage_manifest(rng, content)
    elif path.endswith(".txn") and rng.random() < 0.5:
        transaction = transaction_pb2.Transaction.FromString(content)
        messages.damage_message(rng, transaction)
        content = transaction.SerializeToString()
    else:
        content = damage(rng, content)
    return {**values, path: content}


def damage_metadata(rng: np.random.Generator, values: Values) -> Values:
    """Column metadata, page layouts, tables and footer of a data file."""
    path = _data(values)
    content = _bytes(values, path)
    if is_legacy(content):
        return {**values, path: content[:-600] + damage(rng, content[-600:])}
    if rng.random() < 0.5:
        start = metadata_start(content)
        return {**values, path: content[:start] + damage(rng, content[start:])}
    return {**values, path: messages.damage_columns(rng, content)}


def damage_pages(rng: np.random.Generator, values: Values) -> Values:
    """Damages a data file, or a file of blobs next to it."""
    path = _data(values)
    blobs = [name for name in values if name.endswith(".blob")]
    if blobs and rng.random() < 0.1:
        path = blobs[int(rng.integers(len(blobs)))]
        return {**values, path: damage(rng, _bytes(values, path))}
    content = _bytes(values, path)
    # version 0.1 has no messages that can be edited one by one
    chosen = 1.0 if is_legacy(content) else rng.random()
    if chosen < 0.4:
        content = messages.damage_columns(rng, content)
    elif chosen < 0.9:
        weights = np.ones(len(content))
        # the headers of buffers describe the rest
        for bound in data_file_cuts(content):
            weights[bound : bound + 16] += 10
        content = damaged(rng, content, weights / weights.sum())
    else:
        content = damage(rng, content)
    return {**values, path: content}


def manifest_cuts(values: Values) -> Iterator[tuple[str, int]]:
    path = _manifest(values)
    yield from ((path, length) for length in cuts(_bytes(values, path)))


def section_cuts(values: Values) -> Iterator[tuple[str, int]]:
    for path in _sections(values):
        yield from ((path, length) for length in cuts(_bytes(values, path)))


def data_cuts(values: Values) -> Iterator[tuple[str, int]]:
    path = _data(values)
    yield from ((path, length) for length in data_file_cuts(_bytes(values, path)))


def store_of(values: Values) -> MemoryStore:
    """The files of an input, which may be changed."""
    files = {name: content for name, content in values.items() if isinstance(content, bytes)}
    return _ExactStore(files, "damaged.lance")


def transaction_of(values: Values) -> tuple[Values, str, bytes]:
    """The latest manifest without its section of the transaction; path and content of the transaction's file."""
    path = _manifest(values)
    read: list[str] = []

    def without(message: table_pb2.Manifest) -> None:
        read.append(message.transaction_file)
        message.ClearField("transaction_section")
        message.ClearField("transaction_section_old")

    manifest = messages.with_manifest(_bytes(values, path), without)
    name = f"_transactions/{read[0]}"
    return {path: manifest}, name, _bytes(values, name)


def dataset_of(values: Values) -> Dataset:
    """The latest version of the table of an input."""
    store = store_of(values)
    return Dataset(Snapshot(store.uri, store, store, list_versions(store)[-1]))


def _check(batch: pa.RecordBatch) -> None:
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid as error:
        if not any(text in str(error) for text in _ABOUT_VALUES):
            raise


def _manifest(values: Values) -> str:
    return manifest_file({name: content for name, content in values.items() if isinstance(content, bytes)})


def _data(values: Values) -> str:
    return max(path for path in values if path.startswith("data/") and path.endswith(".lance"))


def _sections(values: Values) -> list[str]:
    folders = ("_transactions/", "_refs/")
    return [_manifest(values), *(path for path in values if path.startswith(folders))]


def _bytes(values: Values, name: str) -> bytes:
    content = values[name]
    assert isinstance(content, bytes)
    return content
