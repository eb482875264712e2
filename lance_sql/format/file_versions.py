"""The versions of the data file format, as data: their names, the columns that they support, and their page rules.

Other code checks the capabilities of a version, never its number.

Source: data files 0.1, 2.0, 2.1 and 2.2, footers, types, and the layouts of pages.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PageRules:
    """Features that writers of pages 2.1 and later may use.

    has_large_chunk: chunk words and sizes of value buffers are 32 bits wide
    max_chunk_bytes: of one chunk with its levels and its header
    run_length_levels: levels may be run-length encoded
    compressed_blocks: dictionaries may be compressed as opaque bytes
    constant_values: a page may hold one value for all items
    compressed_constant_levels: the levels of a constant page may be encoded
    dictionary_bits: widths of fixed-width values that may have a dictionary
    packed_strings: a packed struct may have fields that vary in length
    """

    has_large_chunk: bool
    max_chunk_bytes: int
    run_length_levels: bool
    compressed_blocks: bool
    constant_values: bool
    compressed_constant_levels: bool
    dictionary_bits: tuple[int, ...]
    packed_strings: bool


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns that a version supports, beyond those of every version.

    maps: maps, and fixed-size lists of structs
    blob_v2: blobs have the extension lance.blob.v2, instead of being binary columns with an option in their metadata
    empty_binaries: fixed-size binaries of zero bytes
    packed_lists: packed structs with fixed-size lists
    packed_strings: packed structs with strings
    """

    maps: bool = False
    blob_v2: bool = False
    empty_binaries: bool = False
    packed_lists: bool = True
    packed_strings: bool = False


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One version of the data file format.

    name: in the spelling of tables and users
    numbers: every (major, minor) of footers and manifests for it
    in_footers, in_manifests: the one for new files; None for a read-only version
    path_columns: whether lists and structs have their own columns; None if only early files have them
    pages: None if pages are trees of arrays, or if there are no pages
    """

    name: str
    numbers: Collection[tuple[int, int]]
    columns: Columns = Columns()
    in_footers: tuple[int, int] | None = None
    in_manifests: tuple[int, int] | None = None
    path_columns: bool | None = False
    pages: PageRules | None = None

    @property
    def is_written(self) -> bool:
        """Whether this release can write such files."""
        return self.in_footers is not None


V0_1: Final = FileVersion("0.1", numbers=((0, 0), (0, 1), (0, 2)), path_columns=True)
V2_0: Final = FileVersion("2.0", ((0, 3), (2, 0)), in_footers=(0, 3), in_manifests=(2, 0), path_columns=True)
V2_1: Final = FileVersion(
    "2.1",
    numbers=((2, 1),),
    columns=Columns(packed_lists=False),
    in_footers=(2, 1),
    in_manifests=(2, 1),
    path_columns=None,
    pages=PageRules(
        has_large_chunk=False,
        max_chunk_bytes=1 << 15,
        run_length_levels=False,
        compressed_blocks=False,
        constant_values=False,
        compressed_constant_levels=False,
        dictionary_bits=(128,),
        packed_strings=False,
    ),
)
V2_2: Final = FileVersion(
    "2.2",
    numbers=((2, 2),),
    columns=Columns(maps=True, blob_v2=True, empty_binaries=True, packed_strings=True),
    in_footers=(2, 2),
    in_manifests=(2, 2),
    pages=PageRules(
        has_large_chunk=True,
        max_chunk_bytes=1 << 31,
        run_length_levels=True,
        compressed_blocks=True,
        constant_values=True,
        compressed_constant_levels=True,
        dictionary_bits=(64, 128),
        packed_strings=True,
    ),
)

ALL: Final = (V0_1, V2_0, V2_1, V2_2)
DEFAULT: Final = V2_2
"""The version for files of new tables."""

_BY_NUMBERS: Final = {numbers: version for version in ALL for numbers in version.numbers}
_BY_NAME: Final = {version.name: version for version in ALL}

WRITTEN: Final = tuple(version.name for version in ALL if version.is_written)
"""Names of the versions that this release can write."""


_READ_BY: Final = {"2.3": "lance-sql 0.2.0"}
"""Releases that read versions which this one does not. Lance itself calls 2.3 unstable."""


def find(numbers: tuple[int, int]) -> FileVersion | None:
    """Returns the version with these (major, minor) numbers of a footer or a manifest, or None if it is unknown."""
    return _BY_NUMBERS.get(numbers)


def by_name(name: str) -> FileVersion | None:
    """Returns the version of that name, or None if it is unknown."""
    return _BY_NAME.get(name)


def name_of(numbers: tuple[int, int]) -> str:
    """Returns the name of the version with (major, minor) numbers of a footer or a manifest, known or not."""
    version = find(numbers)
    return version.name if version is not None else ".".join(map(str, numbers))


def way_out(name: str) -> str:
    """Returns the end of an error about a version that this release does not read: who reads it, if that is known."""
    reader = _READ_BY.get(name)
    return "" if reader is None else f". Lance calls this version unstable; {reader} reads it and can copy the table"
