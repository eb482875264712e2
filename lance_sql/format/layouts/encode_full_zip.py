"""Encoding of full-zip pages: each value directly after its levels. See `tree.FullZip` for the layout."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lance_sql import _kernels
from lance_sql.format.encodings.blocks import VariableWidth
from lance_sql.format.encodings.tree import Encoding
from lance_sql.format.encodings.variable import num_bytes
from lance_sql.format.layouts.nest import Levels
from lance_sql.format.layouts.shredded import Buffers, ShreddedPage
from lance_sql.format.layouts.tree import FullZip, max_repetition, max_visible


@dataclass(frozen=True, slots=True)
class FixedValues:
    """Values of whole bytes contiguously."""

    encoding: Encoding
    bits_per_value: int
    data: pa.Buffer


@dataclass(frozen=True, slots=True)
class VariableValues:
    """Byte strings, each stored after its length of `length_bits` bits."""

    encoding: Encoding
    length_bits: int
    strings: VariableWidth


def encode(page: ShreddedPage, values: FixedValues | VariableValues) -> tuple[FullZip, Buffers]:
    """Encodes the page; a plain array if values have one width and there are no levels."""
    bits_rep, bits_def = _bits(page.repetition), _bits(page.definition)
    layout = FullZip(
        layers=page.layers,
        values=values.encoding,
        bits_rep=bits_rep,
        bits_def=bits_def,
        bits_per_value=values.bits_per_value if isinstance(values, FixedValues) else None,
        bits_per_offset=values.length_bits if isinstance(values, VariableValues) else None,
        num_items=page.num_entries,
        num_visible_items=len(page.values),
    )
    if isinstance(values, FixedValues) and bits_rep + bits_def == 0:
        return layout, (values.data,)
    num_bits = bits_rep + bits_def
    control = 0 if num_bits == 0 else 1 if num_bits <= 8 else 2 if num_bits <= 16 else 4
    has_index = page.repetition is not None or isinstance(values, VariableValues)
    rows = np.empty(page.num_rows + 1, np.int64) if has_index else None
    out = pa.allocate_buffer(page.num_entries * control + _value_bytes(page, values))
    strings = values.strings if isinstance(values, VariableValues) else None
    size = _kernels.zip(
        page.repetition,
        page.definition,
        page.num_entries,
        bits_rep,
        bits_def,
        max_repetition(page.layers),
        max_visible(page.layers),
        values.bits_per_value // 8 if isinstance(values, FixedValues) else 0,
        values.length_bits // 8 if isinstance(values, VariableValues) else 0,
        strings.offsets if strings else None,
        strings.offset_bits if strings else 32,
        values.data if isinstance(values, FixedValues) else values.strings.data,
        out,
        rows,
    )
    data = out.slice(0, size)
    return layout, (data,) if rows is None else (data, _narrowest(rows))


def _bits(levels: Levels | None) -> int:
    return int(levels.max(initial=1)).bit_length() if levels is not None else 0


def _value_bytes(page: ShreddedPage, values: FixedValues | VariableValues) -> int:
    """Returns the size of all values, with their lengths."""
    if isinstance(values, FixedValues):
        return len(page.values) * values.bits_per_value // 8
    return len(page.values) * values.length_bits // 8 + num_bytes(values.strings)


def _narrowest(rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> bytes:
    """Returns the repetition index in the narrowest sufficient integers."""
    width = next(width for width in (1, 2, 4, 8) if int(rows[-1]) < 1 << 8 * width)
    return rows.astype(f"<u{width}").tobytes()
