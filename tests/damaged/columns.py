"""One small column for each way in which a writer lays values out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

_RNG = np.random.default_rng(11)
_WORDS = [f"{n:x}" for n in _RNG.integers(0, 2**60, 400)]


def _field(type: pa.DataType, **metadata: str) -> pa.Field:
    return pa.field("c", type, metadata={f"lance-encoding:{key}": value for key, value in metadata.items()} or None)


def _some(values: pa.Array, share: float = 0.2) -> pa.Array:
    """The values with NULLs among them."""
    mask = np.random.default_rng(3).random(len(values)) < share
    if pa.types.is_nested(values.type) or pa.types.is_dictionary(values.type):
        return values.take(pa.array(np.arange(len(values)), mask=mask))
    return pa.array(values.to_pylist(), values.type, mask=mask)


def _lists(values: pa.Array, lengths: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values.slice(0, int(offsets[-1])))


def _structs(**members: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays(list(members.values()), list(members))


_LENGTHS = np.random.default_rng(5).integers(0, 5, 300)
_INTS = pa.array(np.arange(3000) % 700, pa.int32())
_WIDE = pa.array(np.random.default_rng(1).integers(0, 2**63, 300), pa.int64())
_TEXTS = pa.array([f"some text about {word} and {word[:4]}" for word in _WORDS] * 4)
_URLS = pa.array([f"https://example.com/{word}/page/{number}" for number, word in enumerate(_WORDS * 3)])
_LONG = pa.array([word * 40 for word in _WORDS[:40]])
_VECTORS = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(40 * 80), pa.float32()), 80)
_PAIRS = pa.FixedSizeListArray.from_arrays(_some(pa.array(np.arange(600), pa.int16())), 2)

COLUMNS: dict[str, Callable[[], tuple[pa.Field, pa.Array]]] = {
    "flat": lambda: (_field(pa.int64(), compression="none"), _WIDE),
    "bitpacked, nullable": lambda: (_field(pa.int32()), _some(_INTS)),
    "booleans": lambda: (_field(pa.bool_()), _some(pa.array(np.arange(900) % 3 == 0))),
    "runs": lambda: (_field(pa.int32()), pa.array(np.arange(5000) // 300, pa.int32())),
    "byte stream split": lambda: (
        _field(pa.float32(), compression="zstd", bss="on"),
        pa.array(np.arange(3000) / 7, pa.float32()),
    ),
    "lz4": lambda: (_field(pa.int64(), compression="lz4"), pa.array(np.arange(3000) % 1000 * 2**40)),
    "texts": lambda: (_field(pa.string(), compression="none"), _some(_TEXTS.slice(0, 300))),
    "texts with symbols": lambda: (_field(pa.string(), compression="fsst", **{"dict-divisor": "100000"}), _URLS),
    "texts in a dictionary": lambda: (
        _field(pa.string()),
        _some(_TEXTS.slice(0, 20).take(pa.array([*range(20)] * 30))),
    ),
    "dictionary type": lambda: (
        _field(pa.dictionary(pa.int16(), pa.string())),
        _some(_TEXTS.slice(0, 7).take(pa.array([*range(7)] * 60)).dictionary_encode()).cast(
            pa.dictionary(pa.int16(), pa.string())
        ),
    ),
    "decimals": lambda: (_field(pa.decimal128(22, 3)), _some(pa.array(range(300)).cast(pa.decimal128(22, 3)))),
    "constants": lambda: (_field(pa.int64()), _some(pa.array([7] * 900))),
    "long constants": lambda: (_field(pa.string()), pa.array(["constant " * 9] * 500)),
    "lists": lambda: (_field(pa.list_(pa.int32())), _some(_lists(_INTS, _LENGTHS))),
    "lists of texts": lambda: (_field(pa.list_(pa.string())), _some(_lists(_some(_TEXTS), _LENGTHS))),
    "lists of lists": lambda: (
        _field(pa.list_(pa.list_(pa.int32()))),
        _some(_lists(_some(_lists(_INTS, _LENGTHS)), _LENGTHS[:90])),
    ),
    "structs of lists": lambda: (
        _field(pa.struct([("a", pa.int32()), ("b", pa.list_(pa.int32()))])),
        _some(_structs(a=_some(_INTS.slice(0, 300)), b=_some(_lists(_INTS, _LENGTHS)))),
    ),
    "long texts": lambda: (_field(pa.string()), _some(_LONG)),
    "compressed values": lambda: (
        _field(pa.binary(), compression="zstd"),
        _some(pa.array([bytes([n]) * 2000 for n in range(30)])),
    ),
    "vectors": lambda: (_field(_VECTORS.type), _VECTORS),
    "nullable vectors": lambda: (_field(_VECTORS.type), _some(_VECTORS)),
    "small vectors": lambda: (_field(_PAIRS.type), _some(_PAIRS)),
    "zipped vectors": lambda: (_field(_PAIRS.type, **{"structural-encoding": "fullzip"}), _some(_PAIRS)),
    "lists of long texts": lambda: (_field(pa.list_(pa.string())), _some(_lists(_LONG, _LENGTHS[:18]))),
    "lists of vectors": lambda: (_field(pa.list_(_VECTORS.type)), _some(_lists(_VECTORS, _LENGTHS[:18]))),
    "packed structs": lambda: (
        _field(pa.struct([("a", pa.int32()), ("b", pa.float64())]), packed="true"),
        _structs(a=_INTS.slice(0, 200), b=pa.array(np.arange(200) / 3)),
    ),
    "blobs": lambda: (
        _field(pa.large_binary(), blob="true"),
        pa.array([b"blob" * 50, b"", None] * 20, pa.large_binary()),
    ),
    "few lists": lambda: (
        _field(pa.list_(pa.int32())),
        pa.array(
            [[row] if row % 97 == 0 else None if row % 89 == 0 else [] for row in range(900)], pa.list_(pa.int32())
        ),
    ),
    "many lists of one value": lambda: (
        _field(pa.list_(pa.int64())),
        pa.array([[7] * (row % 5 * row % 3) for row in range(2000)], pa.list_(pa.int64())),
    ),
    "few lists of few lists": lambda: (
        _field(pa.list_(pa.list_(pa.string()))),
        pa.array([[["a", None], []] if row % 97 == 0 else [] for row in range(900)], pa.list_(pa.list_(pa.string()))),
    ),
    "few structs": lambda: (
        _field(pa.struct({"a": pa.int64()})),
        pa.array([{"a": row} if row % 300 == 0 else None for row in range(3000)]),
    ),
    "NULLs": lambda: (_field(pa.int32()), pa.nulls(900, pa.int32())),
    "lists of NULLs": lambda: (
        _field(pa.list_(pa.int32())),
        pa.array([[None] * (row % 50 == 0) for row in range(900)], pa.list_(pa.int32())),
    ),
    "texts of one length": lambda: (_field(pa.string()), pa.array([f"{row * 7919 % 9973:06}" for row in range(900)])),
    "long runs": lambda: (_field(pa.int32()), pa.array(np.repeat(np.arange(9), 3000), pa.int32())),
}

ONLY_2_2: dict[str, Callable[[], tuple[pa.Field, pa.Array]]] = {
    "maps": lambda: (
        _field(pa.map_(pa.string(), pa.int32())),
        pa.array([{"a": 1, "b": n} if n % 3 else None for n in range(100)], pa.map_(pa.string(), pa.int32())),
    ),
    "packed texts": lambda: (
        _field(pa.struct([("a", pa.int32()), ("b", pa.string())]), packed="true"),
        pa.StructArray.from_arrays(
            [_INTS.slice(0, 60), _TEXTS.slice(0, 60)], ["a", "b"], mask=pa.array(np.arange(60) % 4 == 1)
        ),
    ),
    "vectors of structs": lambda: (
        _field(pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]), 3)),
        _some(
            pa.FixedSizeListArray.from_arrays(_some(_structs(a=_some(_INTS.slice(0, 300)), b=_TEXTS.slice(0, 300))), 3)
        ),
    ),
}


def columns_of(file_version: str) -> list[str]:
    """The columns that a file version can hold."""
    newer = {"2.1": {}, "2.2": ONLY_2_2}
    return [*COLUMNS, *newer[file_version]]


def table_of(name: str) -> pa.Table:
    """A table with one column `c`."""
    field, values = (COLUMNS | ONLY_2_2)[name]()
    return pa.Table.from_arrays([values.cast(field.type)], schema=pa.schema([field]))
