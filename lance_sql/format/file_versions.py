"""The versions of the data file format, as data: what each is called, what it can hold, and how its pages are written.

The rest of the code asks a version for what it can do, never for its number.

Source: data files 0.1, 2.0, 2.1, 2.2 and 2.3, footers, types, and the layouts of pages.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PageRules:
    """What writers of pages 2.1 and later may use.

    has_large_chunk: chunk words and sizes of value buffers are 32 bits wide
    max_chunk_bytes: of one chunk with its levels and its header
    run_length_levels: levels may be run-length encoded
    compressed_blocks: dictionaries may be compressed as opaque bytes
    constant_values: a page may hold one value for all items
    compressed_constant_levels: the levels of a constant page may be encoded
    dictionary_bits: widths of the values of fixed width that may have a dictionary
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
    """Which columns a version can hold, beyond those that every version can.

    maps: maps, and fixed-size lists of structs
    blob_v2: blobs are those of the extension lance.blob.v2, instead of binary columns whose metadata asks for it
    empty_binaries: fixed-size binaries of no byte
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

    name: as tables and users spell it
    numbers: every (major, minor) that footers and manifests have for it
    in_footers, in_manifests: the one that new files get; None for a version that is read only
    path_columns: lists and structs have columns of their own; None where early files have and later ones have not
    pages: None where pages are trees of arrays, or no pages at all
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
        """Whether this release writes such files, and does not only read them."""
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

V2_3: Final = FileVersion("2.3", numbers=((2, 3),), columns=V2_2.columns)

ALL: Final = (V0_1, V2_0, V2_1, V2_2, V2_3)
DEFAULT: Final = V2_2
"""The version of the files of new tables."""

_BY_NUMBERS: Final = {numbers: version for version in ALL for numbers in version.numbers}
_BY_NAME: Final = {version.name: version for version in ALL}

WRITTEN: Final = tuple(version.name for version in ALL if version.is_written)
"""Names of the versions that this release writes."""


def find(numbers: tuple[int, int]) -> FileVersion | None:
    """The version that a footer or a manifest calls (major, minor); None for one that is not known here."""
    return _BY_NUMBERS.get(numbers)


def by_name(name: str) -> FileVersion | None:
    """The version of that name; None for one that is not known here."""
    return _BY_NAME.get(name)


def name_of(numbers: tuple[int, int]) -> str:
    """How tables spell the version that a footer or a manifest calls (major, minor), known here or not."""
    version = find(numbers)
    return version.name if version is not None else ".".join(map(str, numbers))
