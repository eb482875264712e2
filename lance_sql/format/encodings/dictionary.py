"""Dictionaries: the distinct values of a page, and the number of an item for each value."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.errors import UnsupportedFeature
from lance_sql.format.encodings import bitpacking, general, variable
from lance_sql.format.encodings.blocks import Block, DictionaryValues, FixedWidth, Items, VariableWidth
from lance_sql.format.encodings.preferences import Preferences
from lance_sql.format.encodings.tree import Compression, Encoding, Flat, General, OutOfLineBitpacking, Variable
from lance_sql.format.file_versions import PageRules
from lance_sql.values.arrays import BoolMask

INDEX_BITS = 32

FEWEST_VALUES = 100
MAX_ITEMS = 100_000
MAX_BYTES = 1 << 19
"""Maximum bytes of the items: reading one value of the page reads all of them, and lookups should stay in a cache."""

_BLOCKS, _BLOCK_ITEMS, _FEWEST_BLOCK_ITEMS = 32, 128, 8
"""The sample: runs of values, spread over the page."""

SAMPLED_VALUES = _BLOCKS * _BLOCK_ITEMS
"""Minimum number of values for sampling."""

_FEWEST_VALUES_TRIED = 64

_PACKED_BITS = (8, 16, 32, 64)
_SMALL_BYTES = 256
_WORTHWHILE = 0.8
"""Items are packed or compressed if the result is at most this share."""


def make(values: FixedWidth | VariableWidth, most_items: int, most_bytes: float) -> DictionaryValues | None:
    """Returns the values as a dictionary of at most `most_items` items and `most_bytes` bytes with its indices.

    None if there is none, decided by a sample if that is enough. Values of 8 or 16 bytes, or strings.
    """
    count = values.num_values
    most_items = min(most_items, MAX_ITEMS)
    if count < FEWEST_VALUES:
        return None
    # a few values of a short page may already exceed the limit
    if count < SAMPLED_VALUES and _num_bytes(values, _num_sampled(values, 1, _FEWEST_VALUES_TRIED)) > most_bytes:
        return None
    expected = min(_estimate(values), count)
    if expected * _item_bytes(values) > MAX_BYTES or _num_bytes(values, expected) > most_bytes:
        return None
    indices, firsts = np.empty(count, np.uint32), np.empty(most_items, np.int64)
    match values:
        case FixedWidth(bits_per_value=bits):
            num_items = _kernels.number_fixed(values.data, bits // 8, count, indices, firsts)
        case VariableWidth(offset_bits=bits):
            num_items = _kernels.number_strings(values.offsets, bits, count, values.data, indices, firsts)
    if num_items < 0:
        return None
    items = gather(values, firsts[:num_items], 64, num_items)
    size = items.data.size + (items.offsets.size if isinstance(items, VariableWidth) else 0)
    if size > MAX_BYTES or size + _index_bytes(count, num_items) > most_bytes:
        return None
    return DictionaryValues(count, FixedWidth(count, INDEX_BITS, pa.py_buffer(indices)), items)


def may_help(pages: Sequence[pa.Buffer], bits: int, count: int, most_bytes: npt.NDArray[np.float64]) -> BoolMask:
    """Returns for which short pages `make` may return a dictionary.

    pages: `count` words of `bits` bits each, fewer than SAMPLED_VALUES
    most_bytes: of each page
    """
    may = np.full(len(pages), count >= FEWEST_VALUES)
    for num_tried in (_FEWEST_VALUES_TRIED, count):
        left = may.nonzero()[0]
        if left.size == 0:
            break
        num_distinct = _kernels.distinct_numbers([pages[index] for index in left.tolist()], bits // 8, count, num_tried)
        page = FixedWidth(count, bits, _NOTHING)
        num_bytes = [_num_bytes(page, num_items) for num_items in num_distinct.tolist()]
        may[left] = num_bytes <= most_bytes[left]
    return may


_NOTHING = pa.py_buffer(b"")


def _num_bytes(values: FixedWidth | VariableWidth, num_items: float) -> float:
    """Returns the size of a dictionary of this many items, with its indices, if the items are like the values."""
    return num_items * _item_bytes(values) + _index_bytes(values.num_values, num_items)


def _item_bytes(values: FixedWidth | VariableWidth) -> float:
    match values:
        case FixedWidth(bits_per_value=bits):
            return bits / 8
        case VariableWidth(offset_bits=bits):
            return bits / 8 + variable.num_bytes(values) / values.num_values


def _index_bytes(count: int, num_items: float) -> float:
    return count * max(math.ceil(math.log2(max(num_items, 1))), 1) / 8


def _estimate(values: FixedWidth | VariableWidth) -> float:
    """Estimates the number of distinct values, assuming a sample of equally frequent ones."""
    count = values.num_values
    # fewer large values are enough, because the bytes of a dictionary are limited
    block_items = min(_BLOCK_ITEMS, max(int(2 * MAX_BYTES / _item_bytes(values)) // _BLOCKS, _FEWEST_BLOCK_ITEMS))
    blocks, items = (_BLOCKS, block_items) if count >= _BLOCKS * block_items else (1, count)
    num_distinct = _num_sampled(values, blocks, items)
    sample = blocks * items
    if num_distinct == sample or sample == count:
        return float(num_distinct if sample == count else math.inf)
    low, high = float(num_distinct), float(count)
    for _ in range(40):
        middle = (low + high) / 2
        if middle * -math.expm1(-sample / middle) < num_distinct:
            low = middle
        else:
            high = middle
    return high


def _num_sampled(values: FixedWidth | VariableWidth, blocks: int, items: int) -> int:
    """Counts the distinct values in evenly spaced blocks of so many items."""
    match values:
        case FixedWidth(bits_per_value=bits):
            return _kernels.sample_fixed(values.data, bits // 8, values.num_values, blocks, items)
        case VariableWidth(offset_bits=bits):
            return _kernels.sample_strings(values.offsets, bits, values.num_values, values.data, blocks, items)


def gather(items: Items, indices: "_kernels.Buffer", index_bits: int, count: int) -> Items:
    """Gathers items of whole bytes by their indices, unsigned numbers of `index_bits` bits.

    raises: InvalidDataError for an index without an item
    """
    match items:
        case FixedWidth(bits_per_value=bits):
            out = pa.allocate_buffer(count * bits // 8)
            _kernels.gather_fixed(indices, index_bits, count, items.data, items.num_values, bits // 8, out)
            return FixedWidth(count, bits, out)
        case VariableWidth(offset_bits=bits, offsets=starts, num_values=num_items):
            offsets = pa.allocate_buffer((count + 1) * bits // 8)
            total = _kernels.gather_variable_offsets(indices, index_bits, count, starts, bits, num_items, offsets, bits)
            data = pa.allocate_buffer(total)
            _kernels.gather_variable_bytes(indices, index_bits, count, starts, bits, num_items, items.data, data)
            return VariableWidth(count, bits, offsets, data)


@dataclass(frozen=True, slots=True)
class ItemsBlock:
    """The items of a dictionary as one block."""

    encoding: Encoding
    num_items: int
    data: pa.Buffer | bytes


def encode_items(items: Block, preferences: Preferences, rules: PageRules) -> ItemsBlock:
    """Encodes the items, bit-packed or compressed if the file version allows it and it helps.

    raises: UnsupportedFeature for items that dictionaries do not support
    """
    encoding: Encoding
    match items:
        case VariableWidth():
            encoding, data = Variable(items.offset_bits), pa.py_buffer(variable.encode_block(items))
        case FixedWidth() if items.bits_per_value % 8 == 0:
            encoding, data = Flat(items.bits_per_value), items.data
        case _:
            raise UnsupportedFeature(f"a dictionary of {type(items).__name__} values is not supported")
    plain = ItemsBlock(encoding, items.num_values, data)
    wanted = preferences.dictionary_compression
    if not rules.compressed_blocks or wanted is False or (wanted is None and data.size < _SMALL_BYTES):
        return plain
    if wanted is None and isinstance(items, FixedWidth) and (packed := _packed_items(items)):
        return packed
    compression = wanted if isinstance(wanted, Compression) else Compression.LZ4
    compressed = general.compress(compression, data, preferences.dictionary_compression_level)
    if wanted is None and len(compressed) > data.size * _WORTHWHILE:
        return plain
    return ItemsBlock(General(compression, encoding), items.num_values, compressed)


def _packed_items(items: FixedWidth) -> ItemsBlock | None:
    if items.bits_per_value not in _PACKED_BITS:
        return None
    num_bits = bitpacking.width(items)
    if num_bits > items.bits_per_value * _WORTHWHILE:
        return None
    data = bitpacking.encode_block(items, num_bits)
    return ItemsBlock(OutOfLineBitpacking(items.bits_per_value, num_bits), items.num_values, data)
