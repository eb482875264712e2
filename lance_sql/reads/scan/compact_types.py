"""Types that represent the same values in fewer bytes, for consumers that support them.

Text columns whose pages all have a small dictionary stay dictionaries, so that grouping and comparing works on
integers. Texts of one or two letters, which writers store without one, become dictionaries. Decimals of up to 18
digits fit 64 bits.
"""

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import Final

import pyarrow as pa

from lance_sql.format.file.leaves import is_leaf
from lance_sql.format.schema import Field, arrow_field
from lance_sql.format.schema.types import is_json
from lance_sql.table.known_files import KnownFiles
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import kinds

MAX_DICTIONARY_ITEMS = 10_000
"""A larger dictionary costs a consumer more per batch than it saves."""

MAX_FILES = 512
"""Limit of data files for text columns, because every footer must be read."""

_BYTES: Final = 512
"""Approximate memory of a cached entry."""


def compact_types(snapshot: Snapshot) -> Mapping[str, pa.DataType]:
    """Returns the compact type of each top-level column that has one. Opens the data files if there are text
    columns, except on remote stores, where texts stay texts."""
    schema = snapshot.manifest.schema
    compact: dict[str, pa.DataType] = {}
    texts = []
    for field in schema.fields:
        type = arrow_field(field).type
        if pa.types.is_decimal128(type) and type.precision <= 18:
            compact[field.name] = pa.decimal64(type.precision, type.scale)
        # not binaries: DuckDB takes no dictionaries of them; see `providers.duckdb.tables.widen`
        elif is_leaf(field) and kinds.is_text(type) and not (field.is_blob_v2 or is_json(field)):
            texts.append(field)
    fragments = snapshot.manifest.fragments
    is_near = snapshot.open_fragments.concurrency <= 1
    if texts and is_near and int(fragments.table.num_files.sum()) <= MAX_FILES:
        opened = [snapshot.open(fragment) for fragment in fragments]
        for field in _with_dictionaries(texts, opened):
            compact[field.name] = pa.dictionary(pa.int32(), arrow_field(field).type)
    return compact


def _with_dictionaries(fields: list[Field], fragments: Iterable[OpenFragment]) -> list[Field]:
    """Returns the fields whose pages all have a small dictionary, short texts, or one value in all rows."""
    remaining = dict.fromkeys(fields, False)
    for fragment in fragments:
        for field in list(remaining):
            match _pages_of(field, fragment):
                case _Pages.OTHER:
                    remaining.pop(field)
                case _Pages.DICTIONARIES:
                    remaining[field] = True
    return [field for field, has_dictionary in remaining.items() if has_dictionary]


class _Pages(Enum):
    """The pages of a text column in a file: each has one value; some have a small dictionary or short texts; or some
    have neither."""

    CONSTANT = auto()
    DICTIONARIES = auto()
    OTHER = auto()


_KNOWN: Final = KnownFiles[_Pages]("pages of text columns", 1 << 20, lambda _: _BYTES)


def _pages_of(field: Field, fragment: OpenFragment) -> _Pages:
    """Returns the kind of the pages of a text column in a fragment. Opens the file the first time.

    raises: CorruptFile, UnsupportedFeature
    """
    number = fragment.listed.file_number(field.id)
    if number is None:
        return _Pages.CONSTANT
    store, path = fragment.files.resolve(fragment.fragment.files[number])
    # of version 0.1, a column has the id of its field
    part = fragment.listed.files[number].columns.get(field.id, field.id)
    return _KNOWN.get(store, path, lambda: _read_pages(field, fragment), part=part)


def _read_pages(field: Field, fragment: OpenFragment) -> _Pages:
    found = _Pages.CONSTANT
    for column in fragment.columns_of(field):
        has_dictionaries = column.has_dictionaries(MAX_DICTIONARY_ITEMS)
        if has_dictionaries is None:
            return _Pages.OTHER
        if has_dictionaries:
            found = _Pages.DICTIONARIES
    return found
