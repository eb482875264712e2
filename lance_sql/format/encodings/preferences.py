"""Writer options in a field's metadata: the keys `lance-encoding:*` and their values.

Readers ignore them. Unknown keys have no effect; a known key with an unknown value is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from lance_sql.errors import InvalidArgument
from lance_sql.format.encodings.tree import Compression

PREFIX = "lance-encoding:"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Preferences:
    """Preferences for one leaf; None if the writer chooses.

    compression: of values as opaque bytes
    plain: no bit-packing, runs or symbols
    symbols: FSST or nothing
    rle_threshold: use runs if less than this share of the values begin one
    byte_stream_split: only before compression; None if the writer decides by a trial
    dictionary_divisor: a dictionary has at most one item for this many values
    dictionary_ratio: a dictionary with its indices takes at most this share of the values
    dictionary_compression: of the items; False for none
    full_zip: the layout, for any size of values
    chunk_bytes: of a chunk of strings
    """

    compression: Compression | None = None
    compression_level: int | None = None
    plain: bool = False
    symbols: bool = False
    rle_threshold: float | None = None
    byte_stream_split: bool | None = None
    dictionary_divisor: int | None = None
    dictionary_ratio: float | None = None
    dictionary_compression: Compression | bool | None = None
    dictionary_compression_level: int | None = None
    full_zip: bool | None = None
    chunk_bytes: int | None = None


_NONE = Preferences()


def from_metadata(metadata: Mapping[str, bytes]) -> Preferences:
    """Parses the preferences of a field.

    raises: InvalidArgument for an invalid value, with its key
    """

    if not any(key.startswith(PREFIX) for key in metadata):
        return _NONE

    found: dict[str, Any] = dict.fromkeys(_PARSERS)
    for key, parse in _PARSERS.items():
        given = metadata.get(PREFIX + key)
        if given is None:
            continue
        text = given.decode("utf-8", "replace").strip()
        try:
            found[key] = parse(text.lower())
        except (KeyError, ValueError):
            raise InvalidArgument(f"the metadata {PREFIX + key}={text[:60]!r} is not supported") from None
    scheme = found["compression"]
    return Preferences(
        compression=scheme if isinstance(scheme, Compression) else None,
        compression_level=found["compression-level"],
        plain=scheme == "none",
        symbols=scheme == "fsst",
        rle_threshold=found["rle-threshold"],
        byte_stream_split=found["bss"],
        dictionary_divisor=found["dict-divisor"],
        dictionary_ratio=found["dict-size-ratio"],
        dictionary_compression=found["dict-values-compression"],
        dictionary_compression_level=found["dict-values-compression-level"],
        full_zip=found["structural-encoding"],
        chunk_bytes=found["minichunk-size"],
    )


_SCHEMES: Mapping[str, Compression | str] = {
    "zstd": Compression.ZSTD,
    "lz4": Compression.LZ4,
    "fsst": "fsst",
    "none": "none",
}
_DICTIONARY_SCHEMES: Mapping[str, Compression | bool] = {
    "zstd": Compression.ZSTD,
    "lz4": Compression.LZ4,
    "none": False,
}


def _one_of(values: Mapping[str, T]) -> Callable[[str], T]:
    return values.__getitem__


def _number(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise ValueError(text)
        return number

    return parse


def _share(text: str) -> float:
    share = float(text)
    if not 0 <= share <= 1:
        raise ValueError(text)
    return share


def _positive_share(text: str) -> float:
    if (share := _share(text)) == 0:
        raise ValueError(text)
    return share


_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    "compression": _one_of(_SCHEMES),
    "compression-level": _number(-100, 100),
    "rle-threshold": _share,
    "bss": _one_of({"on": True, "off": False, "auto": None}),
    "dict-divisor": _number(1, 1 << 48),
    "dict-size-ratio": _positive_share,
    "dict-values-compression": _one_of(_DICTIONARY_SCHEMES),
    "dict-values-compression-level": _number(-100, 100),
    "structural-encoding": _one_of({"fullzip": True, "miniblock": False}),
    "minichunk-size": _number(1, 1 << 30),
}

KEYS: Final = tuple(_PARSERS)
"""The options, without the prefix."""
