"""Feature flags: features of a table that a reader or a writer must support.

An unknown bit may mean anything, so nothing is read or written. Most bits describe the content of a version, and
are computed again for each. The bits of `STICKY` stay set in all later versions, even if their content is gone.

Source: Manifest.reader_feature_flags and writer_feature_flags; table format, feature flags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lance_sql.errors import CorruptFile, UnsupportedFeature

if TYPE_CHECKING:
    from lance_sql.table.fragments import Fragments

DELETION_FILES: Final = 1
STABLE_ROW_IDS: Final = 2
FILE_FORMAT_V2: Final = 4
TABLE_CONFIG: Final = 8
BASE_PATHS: Final = 16
INLINE_TRANSACTIONS: Final = 32
INDEX_COVERING_FIELDS: Final = 128
MIXED_FILE_VERSIONS: Final = 256
TAGGED_FRAGMENT_REUSE: Final = 1024
SPILLED_ROW_LINEAGE: Final = 2048

READABLE: Final = (
    DELETION_FILES
    | STABLE_ROW_IDS
    | FILE_FORMAT_V2
    | TABLE_CONFIG
    | BASE_PATHS
    | INLINE_TRANSACTIONS
    | INDEX_COVERING_FIELDS
    | MIXED_FILE_VERSIONS
    | TAGGED_FRAGMENT_REUSE
    | SPILLED_ROW_LINEAGE
)

WRITABLE: Final = READABLE

STICKY: Final = MIXED_FILE_VERSIONS | TAGGED_FRAGMENT_REUSE
"""Bits that both words of a manifest have, or none."""


def check_readable(reader_flags: int, table: str) -> None:
    """Makes sure that every reader flag is known. Readers ignore writer flags.

    raises: UnsupportedFeature that names the values of the unknown bits
    """
    unknown = reader_flags & ~READABLE
    if unknown:
        raise UnsupportedFeature(
            f"{table} needs reader feature {_names(unknown)}, which this release does not support. Nothing was returned"
        )


def check_writable(reader_flags: int, writer_flags: int, table: str) -> None:
    """Makes sure that every flag is known, as a writer requires.

    raises: UnsupportedFeature that names the values of the unknown bits; CorruptFile if only one of the words has a
        bit of `STICKY`
    """
    if half := (reader_flags ^ writer_flags) & STICKY:
        raise CorruptFile(f"{table} has feature {_names(half)} for readers or for writers only, but it applies to both")
    unknown = (reader_flags | writer_flags) & ~WRITABLE
    if unknown:
        raise UnsupportedFeature(
            f"{table} has feature {_names(unknown)}, which this release cannot write. Nothing was written"
        )


def describe(
    fragments: Fragments,
    *,
    stable_row_ids: bool,
    has_config: bool,
    has_base_paths: bool,
    has_covering_indices: bool,
    before: int,
) -> tuple[int, int]:
    """Returns the reader flags and the writer flags of a version from its content.

    before: flags of the version it is based on; the sticky ones stay set
    """
    both = before & STICKY
    if fragments.have_deletions():
        both |= DELETION_FILES
    if stable_row_ids:
        both |= STABLE_ROW_IDS
    if has_base_paths:
        both |= BASE_PATHS
    if fragments.have_hidden_columns():
        both |= SPILLED_ROW_LINEAGE
    if has_covering_indices:
        both |= INDEX_COVERING_FIELDS
    return both, both | TABLE_CONFIG if has_config else both


def _names(flags: int) -> str:
    values = [str(1 << bit) for bit in range(flags.bit_length()) if flags >> bit & 1]
    return f"flag {values[0]}" if len(values) == 1 else "flags " + ", ".join(values)
