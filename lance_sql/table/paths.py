"""Paths of the files of a table: names of manifests, and folders of the files that a manifest lists.

    _versions/18446744073709551614.manifest    version 1, counted down from 2^64 - 1 (scheme V2)
    _versions/1.manifest                       version 1 (scheme V1)
    _versions/d9223372036854775809.manifest    a detached version, outside the history
    data/<path of a data file>
    _deletions/<fragment>-<read version>-<id>.arrow | .bin

Source: table format, directory layout, manifest naming schemes; message lance.table.BasePath.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from lance_sql.errors import CorruptFile

VERSIONS: Final = "_versions"
TRANSACTIONS: Final = "_transactions"
DATA: Final = "data"
DELETIONS: Final = "_deletions"
INDICES: Final = "_indices"
CHECKSUMS: Final = "_checksums"
CURSORS: Final = "_cursors"
APPLIED: Final = "_applied"
TAGS: Final = "_refs/tags"
BRANCHES: Final = "_refs/branches"

_SUFFIX = ".manifest"
V2_NAME_LENGTH: Final = 20 + len(_SUFFIX)
_TOP = 2**64 - 1
_DETACHED_BIT = 2**63
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class NamingScheme(Enum):
    """Format of versions in the file names of manifests. A table uses one of the two."""

    V1 = 1
    V2 = 2


@dataclass(frozen=True, slots=True)
class BasePath:
    """A place outside the table's folder with some of its files.

    is_dataset_root: the files are in `data` and `_deletions` below the path, as in a table, not directly in it
    """

    id: int
    name: str | None
    is_dataset_root: bool
    path: str

    def check(self) -> None:
        """Makes sure that the path is absolute.

        raises: CorruptFile
        """
        if "\0" in self.path or not (os.path.isabs(self.path) or _URI.match(self.path)):
            raise CorruptFile(f"base path {self.id} is neither an absolute path nor a URI: {self.path[:200]!r}")

    def folder(self, kind: str) -> str:
        """Returns the prefix of paths of the files in `data` or `_deletions` of this place."""
        return f"{kind}/" if self.is_dataset_root else ""


def manifest_path(version: int, scheme: NamingScheme) -> str:
    """Returns the path of a version's manifest. A version with bit 63 set is detached, in either scheme."""
    if version & _DETACHED_BIT:
        return f"{VERSIONS}/d{version}{_SUFFIX}"
    if scheme is NamingScheme.V2:
        return f"{VERSIONS}/{_TOP - version:020}{_SUFFIX}"
    return f"{VERSIONS}/{version}{_SUFFIX}"


def parse_manifest_name(name: str) -> tuple[int, NamingScheme] | None:
    """Parses version and scheme from a file name; None for detached versions, temporary files and everything else."""
    digits = name.removesuffix(_SUFFIX)
    if digits == name or not (digits.isascii() and digits.isdecimal()) or len(digits) > 20:
        return None
    if len(digits) == 20:
        version, scheme = _TOP - int(digits), NamingScheme.V2
    else:
        version, scheme = int(digits), NamingScheme.V1
    return (version, scheme) if 0 <= version < _DETACHED_BIT else None
