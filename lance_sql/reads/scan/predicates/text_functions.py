"""Text functions in filters, as DuckDB defines them: a character is a code point."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from lance_sql.values import kinds

from .function import Function, Types

# DuckDB trims spaces of every width (category Zs), but no tabs or line ends.
_SPACES: Final = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


def _text(types: Types) -> pa.DataType | None:
    return pa.large_string() if all(map(kinds.is_text, types)) else None


def _text_and_counts(types: Types) -> pa.DataType | None:
    return pa.large_string() if kinds.is_text(types[0]) and all(map(pa.types.is_integer, types[1:])) else None


def _condition(types: Types) -> pa.DataType | None:
    return pa.bool_() if all(map(kinds.is_text, types)) else None


def _trim(name: str) -> Function:
    def evaluate(result: pa.DataType, text: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        return pc.call_function(name, [text], pc.TrimOptions(_SPACES)).cast(result)

    return Function(_text, evaluate)


def _concatenation(nulls: str) -> Function:
    """nulls: effect of a NULL on the text: "emit_null", or "replace", by nothing"""

    def evaluate(result: pa.DataType, *texts: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        cast = [text.cast(result) for text in texts]
        return pc.binary_join_element_wise(*cast, pa.scalar("", result), null_handling=nulls, null_replacement="")

    return Function(_text, evaluate)


def _slice(result: pa.DataType, text: pa.Array, start: pa.Array, length: pa.Array) -> pa.Array:
    """start: the first character is 1; both are constants, which the parser of filters has checked"""
    import pyarrow.compute as pc

    if not len(text):
        return text.cast(result)
    first = start[0].as_py() - 1
    return pc.utf8_slice_codeunits(text, first, first + length[0].as_py()).cast(result)


def _matches(result: pa.DataType, text: pa.Array, pattern: pa.Array) -> pa.Array:
    """Tests whether a part of the text matches; the pattern is a constant."""
    import pyarrow.compute as pc

    if not len(text):
        return pa.array([], result)
    return pc.match_substring_regex(text, pattern[0].as_py())


TEXT_FUNCTIONS: Final[dict[str, Function]] = {
    "trim": _trim("utf8_trim"),
    "ltrim": _trim("utf8_ltrim"),
    "rtrim": _trim("utf8_rtrim"),
    "||": _concatenation("emit_null"),
    "concat": _concatenation("replace"),
    "substring": Function(_text_and_counts, _slice),
    "regexp_matches": Function(_condition, _matches),
}
