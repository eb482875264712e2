"""Dictionaries of version 0.1: the indices are in data files, the values once per table, in its manifest file."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.layouts.nest import Chain
from lance_sql.format.layouts.reading import run
from lance_sql.format.old_files import stored
from lance_sql.format.old_files.array_page import ArrayPage
from lance_sql.format.old_files.pages_v0_1 import values_page
from lance_sql.format.schema import Field, storage_type
from lance_sql.store import ByteRange
from lance_sql.values import kinds, row_ranges


def read_values(field: Field, file_size: int, fetch: Callable[[Sequence[ByteRange]], Sequence[pa.Buffer]]) -> pa.Array:
    """Reads the values of a dictionary field; an empty string is NULL.

    file_size, fetch: of the file with the schema
    raises: CorruptFile
    """
    type = storage_type(field).value_type
    if field.dictionary is None:
        raise CorruptFile(f"the schema has no values for the dictionary {field.name!r}")
    if not pa.types.is_integer(type) and not kinds.has_offsets(type):
        raise UnsupportedFeature(f"a dictionary of {type} in version 0.1 is not supported")
    position, count = field.dictionary
    page = values_page(type, position, count, file_size, empty_is_null=True)
    opened = ArrayPage(page.encoding, page.buffers, page.num_rows, (), has_null_key=False)
    return run(opened.decode(row_ranges.single(0, count), Chain(type), 0), fetch)


def with_values(type: pa.DictionaryType, values: Callable[[], pa.Array]) -> Callable[[pa.Array], pa.Array]:
    """Returns a function that makes a dictionary array of indices. The index of a NULL becomes NULL.

    raises: CorruptFile for an index without a value
    """

    def finish(indices: pa.Array) -> pa.Array:
        items = values()
        numbers = indices.to_numpy(zero_copy_only=False)
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(items):
            raise CorruptFile(f"an index outside of the {len(items)} values of the dictionary")
        if items.null_count:
            valid = np.asarray(items.is_valid())[numbers]
            validity = stored.bitmap(valid)
            indices = pa.Array.from_buffers(indices.type, len(indices), [validity, indices.buffers()[1]])
        return pa.DictionaryArray.from_arrays(indices, items, ordered=type.ordered, safe=False)

    return finish
