"""Feature flags: what a reader, and what a writer, has to know before it may touch a table.

A bit that is not known here may mean anything, so nothing is read or written. Bits about indices are known to readers
in the sense that indices are never used for answering.

Source: Manifest.reader_feature_flags and writer_feature_flags; table format, feature flags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lance_sql.errors import UnsupportedFeature

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

WRITABLE: Final = (
    DELETION_FILES
    | STABLE_ROW_IDS
    | FILE_FORMAT_V2
    | TABLE_CONFIG
    | BASE_PATHS
    | INLINE_TRANSACTIONS
    | SPILLED_ROW_LINEAGE
)


def check_readable(reader_flags: int, table: str) -> None:
    """Makes sure that every reader flag is known. Writer flags do not concern a reader.

    raises: UnsupportedFeature that names the values of the unknown bits
    """
    unknown = reader_flags & ~READABLE
    if unknown:
        raise UnsupportedFeature(
            f"{table} needs reader feature {_names(unknown)}, which this release does not know. Nothing was returned."
        )


def check_writable(flags: int, table: str) -> None:
    """Makes sure that a writer knows every flag.

    flags: those for readers and those for writers
    raises: UnsupportedFeature that names the values of the unknown bits
    """
    unknown = flags & ~WRITABLE
    if unknown:
        raise UnsupportedFeature(
            f"{table} has feature {_names(unknown)}, with which this release cannot write. Nothing was written."
        )


def describe(fragments: Fragments, *, stable_row_ids: bool, has_config: bool, has_base_paths: bool) -> tuple[int, int]:
    """The flags of a version for readers, and those for writers, from what it has."""
    both = 0
    if fragments.have_deletions():
        both |= DELETION_FILES
    if stable_row_ids:
        both |= STABLE_ROW_IDS
    if has_base_paths:
        both |= BASE_PATHS
    if fragments.have_hidden_columns():
        both |= SPILLED_ROW_LINEAGE
    return both, both | TABLE_CONFIG if has_config else both


def _names(flags: int) -> str:
    values = [str(1 << bit) for bit in range(flags.bit_length()) if flags >> bit & 1]
    return f"flag {values[0]}" if len(values) == 1 else "flags " + ", ".join(values)
