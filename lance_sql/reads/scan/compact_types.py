"""Types that hold the same values in fewer bytes, for consumers that can use them.

Texts whose pages are all stored with a small dictionary stay dictionaries, so that grouping and comparing them
works on integers; those of a letter or two, which writers store as they are, become dictionaries. Decimals of at
most 18 digits fit 64 bits.
"""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from lance_sql.format.file.leaves import is_leaf
from lance_sql.format.schema import Field, arrow_field
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.table.snapshot import Snapshot

MAX_DICTIONARY_ITEMS = 10_000
"""A larger dictionary costs a consumer more per batch than it saves."""

MAX_FILES = 512
"""Tables of more data files keep their texts, for every footer has to be read to know."""

# Not binaries: DuckDB takes no dictionaries of them; see `providers.duckdb.tables.widen`.
_TEXTS = (pa.types.is_string, pa.types.is_large_string)


def compact_types(snapshot: Snapshot) -> Mapping[str, pa.DataType]:
    """The compact type of each top-level column that has one. Opens the data files when there are text columns, but not
    where each of them takes a request: then texts stay texts."""
    schema = snapshot.manifest.schema
    compact: dict[str, pa.DataType] = {}
    texts = []
    for field in schema.fields:
        type = arrow_field(field).type
        if pa.types.is_decimal128(type) and type.precision <= 18:
            compact[field.name] = pa.decimal64(type.precision, type.scale)
        elif is_leaf(field) and any(is_type(type) for is_type in _TEXTS) and not field.is_blob_v2:
            texts.append(field)
    fragments = snapshot.manifest.fragments
    is_near = snapshot.open_fragments.concurrency <= 1
    if texts and is_near and int(fragments.table.num_files.sum()) <= MAX_FILES:
        opened = [snapshot.open(fragment) for fragment in fragments]
        for field in _with_dictionaries(texts, opened):
            compact[field.name] = pa.dictionary(pa.int32(), arrow_field(field).type)
    return compact


def _with_dictionaries(fields: list[Field], fragments: Iterable[OpenFragment]) -> list[Field]:
    """Those of the fields of which every page has a small dictionary or short texts, or one value in all rows."""
    remaining = dict.fromkeys(fields, False)
    for fragment in fragments:
        for field in list(remaining):
            for column in fragment.columns_of(field):
                has_dictionaries = column.has_dictionaries(MAX_DICTIONARY_ITEMS)
                if has_dictionaries is None:
                    remaining.pop(field)
                else:
                    remaining[field] |= has_dictionaries
    return [field for field, has_dictionary in remaining.items() if has_dictionary]
