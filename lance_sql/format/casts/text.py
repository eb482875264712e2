"""Values as text, in DuckDB's format: 1.0, 1e+20, 0.00000010, 2024-01-01 00:00:00.5, and UTC as +00."""

from __future__ import annotations

import pyarrow as pa

from lance_sql.values import kinds


def of(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Converts values to text of a type.

    raises: pa.ArrowInvalid for years before the first, times out of range, and bytes that are not UTF-8;
        pa.ArrowNotImplementedError for types without a text
    """
    source = array.type
    if pa.types.is_binary_view(source):
        return array.cast(pa.large_binary()).cast(target)
    if kinds.is_text(source) or pa.types.is_boolean(source) or pa.types.is_integer(source):
        return array.cast(target)
    if pa.types.is_floating(source):
        return _of_floats(array).cast(target)
    if pa.types.is_decimal(source):
        return _of_decimals(array).cast(target)
    if pa.types.is_timestamp(source) and source.tz is not None:
        import pyarrow.compute as pc

        plain = _of_times(array.cast(pa.timestamp(source.unit)))
        return pc.binary_join_element_wise(plain, "+00", pa.scalar("", pa.string())).cast(target)
    if pa.types.is_date(source) or pa.types.is_time(source) or pa.types.is_timestamp(source):
        return _of_times(array).cast(target)
    if pa.types.is_duration(source):
        raise pa.ArrowNotImplementedError("durations cannot become text")
    return array.cast(target)


def _of_floats(array: pa.Array) -> pa.Array:
    numbers = array.cast(pa.float32()) if pa.types.is_float16(array.type) else array
    if not pa.types.is_float64(numbers.type):
        # a double with the same digits
        numbers = numbers.cast(pa.string()).cast(pa.float64())
    # NumPy formats doubles like DuckDB
    texts = numbers.fill_null(0).to_numpy().astype(str)
    return pa.array(texts, pa.string(), mask=array.is_null().to_numpy(zero_copy_only=False))


def _of_decimals(array: pa.Array) -> pa.Array:
    """Formats all digits, while Arrow writes small numbers with an exponent. Like in DuckDB, a type without a digit
    before the point gets no 0 there."""
    import pyarrow.compute as pc

    scale = array.type.scale
    if scale <= 0:
        return array.cast(pa.string())
    wide = pa.decimal256(array.type.precision, scale)
    array = array.cast(wide)
    whole = pa.Array.from_buffers(pa.decimal256(wide.precision, 0), len(array), array.buffers(), offset=array.offset)
    texts = whole.cast(pa.string())
    sign = pc.if_else(pc.starts_with(texts, "-"), "-", "")
    digits = pc.utf8_lpad(pc.utf8_ltrim(texts, characters="-"), width=scale + (wide.precision > scale), padding="0")
    before, after = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    joined = pc.binary_join_element_wise(before, after, pa.scalar(".", pa.string()))
    return pc.binary_join_element_wise(sign, joined, pa.scalar("", pa.string()))


def _of_times(array: pa.Array) -> pa.Array:
    """Formats times without trailing zeros of the seconds."""
    import pyarrow.compute as pc

    texts = array.cast(pa.string())
    strange = pc.match_substring_regex(texts, "^(-|0000|<)")
    if pc.any(strange).as_py():
        raise pa.ArrowInvalid("a time is out of the range of text")
    has_fraction = pc.match_substring(texts, ".")
    shorter = pc.utf8_rtrim(pc.utf8_rtrim(texts, characters="0"), characters=".")
    return pc.if_else(has_fraction, shorter, texts)
