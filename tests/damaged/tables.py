"""Small tables in memory, and ways to damage their files."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from lance_sql.dataset import Dataset
from lance_sql.store import MemoryStore
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import list_versions

Files = Mapping[str, bytes]


def files_below(root: Path) -> dict[str, bytes]:
    """Every file below a folder by its path there."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def in_memory(files: Files) -> Dataset:
    """The latest version of a table that consists of these files."""
    store = MemoryStore(dict(files), "damaged.lance")
    return Dataset(Snapshot(store.uri, store, store, list_versions(store)[-1]))


def data_file(files: Files) -> str:
    """The path of the only data file."""
    (path,) = (path for path in files if path.startswith("data/") and path.endswith(".lance"))
    return path


def manifest_file(files: Files) -> str:
    """The path of the latest manifest; new tables name them so that the latest comes first."""
    return min(path for path in files if path.startswith("_versions/") and path.endswith(".manifest"))


def write(root: Path, table: pa.Table, file_version: str, **options: Any) -> dict[str, bytes]:
    """The files of a table that pylance writes."""
    # What only damages tables need not have it.
    import lance

    options["data_storage_version"] = file_version
    lance.write_dataset(table, str(root), **options)
    return files_below(root)


_EXTREMES = (0, 1, 2, 7, 8, 127, 128, 254, 255)
_WORDS = (0, 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1)
_VARINTS = (0, 1, 127, 2**14, 2**28, 2**31 - 1, 2**32, 2**35, 2**48, 2**60, 2**63, 2**64 - 1)


def flip_bits(rng: np.random.Generator, data: bytearray, at: int) -> None:
    """One bit, or a few near each other."""
    for _ in range(rng.integers(1, 4)):
        data[min(at + int(rng.integers(0, 8)), len(data) - 1)] ^= 1 << int(rng.integers(8))


def set_byte(rng: np.random.Generator, data: bytearray, at: int) -> None:
    """A byte becomes an extreme one."""
    data[at] = int(rng.choice(_EXTREMES))


def set_word(rng: np.random.Generator, data: bytearray, at: int) -> None:
    """Two, four or eight bytes become an extreme little endian number."""
    width = int(rng.choice([2, 4, 8]))
    at = min(at, len(data) - width) & ~(width - 1)
    word = _WORDS[int(rng.integers(len(_WORDS)))] & ((1 << 8 * width) - 1)
    data[at : at + width] = word.to_bytes(width, "little")


def set_varint(rng: np.random.Generator, data: bytearray, at: int) -> None:
    """Overwrites bytes by an absurd varint; the messages around it keep their lengths."""
    value = encode_varint(_VARINTS[int(rng.integers(len(_VARINTS)))])
    at = min(at, len(data) - len(value))
    data[at : at + len(value)] = value


def swap(rng: np.random.Generator, data: bytearray, at: int) -> None:
    """A few bytes come from somewhere else in the file."""
    width = int(rng.integers(1, 17))
    source = int(rng.integers(0, len(data) - width))
    at = min(at, len(data) - width)
    data[at : at + width] = data[source : source + width]


def zero(rng: np.random.Generator, data: bytearray, at: int) -> None:
    """A stretch of zeros."""
    width = min(int(rng.integers(1, 64)), len(data) - at)
    data[at : at + width] = bytes(width)


DAMAGES: tuple[Callable[[np.random.Generator, bytearray, int], None], ...] = (
    flip_bits,
    set_byte,
    set_word,
    set_varint,
    swap,
    zero,
)


def damaged(rng: np.random.Generator, data: bytes, weights: np.ndarray[Any, Any] | None = None) -> bytes:
    """The bytes with one or two kinds of damage.

    weights: how likely each position is
    """
    changed = bytearray(data)
    for _ in range(rng.integers(1, 3)):
        at = int(rng.integers(len(changed))) if weights is None else int(rng.choice(len(changed), p=weights))
        DAMAGES[int(rng.integers(len(DAMAGES)))](rng, changed, at)
    return bytes(changed)


def encode_varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def metadata_start(data: bytes) -> int:
    """Returns the start of the column metadata of a data file, after which everything is structure."""
    (position,) = struct.unpack_from("<Q", data, len(data) - 40)
    return int(position)
