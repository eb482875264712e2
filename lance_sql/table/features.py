"""Feature flags: what a reader has to know before it may touch a table.

A bit that is not known here may mean anything, so nothing is read. Bits about indices are known in the sense
that indices are never used for answering.

Source: Manifest.reader_feature_flags and writer_feature_flags; table format, feature flags.
"""

from __future__ import annotations

from typing import Final

from lance_sql.errors import UnsupportedFeature

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


def check_readable(reader_flags: int, table: str) -> None:
    """Makes sure that every reader flag is known. Writer flags do not concern a reader.

    raises: UnsupportedFeature that names the values of the unknown bits
    """
    unknown = reader_flags & ~READABLE
    if not unknown:
        return
    values = [str(1 << bit) for bit in range(unknown.bit_length()) if unknown >> bit & 1]
    flags = f"flag {values[0]}" if len(values) == 1 else "flags " + ", ".join(values)
    raise UnsupportedFeature(
        f"{table} needs reader feature {flags}, which this release does not know. Nothing was returned."
    )
