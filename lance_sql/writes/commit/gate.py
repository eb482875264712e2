"""What looks at a version before it is put, and may refuse it: rules of the table that are enforced."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from lance_sql.table.manifest import Manifest
from lance_sql.table.paths import NamingScheme, manifest_path
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import VersionFile
from lance_sql.writes.commit.operations import Operation

_RULES: Final = "lance_sql.rule."
_ENFORCEMENT: Final = "lance_sql.changes.contracts.enforcement"
"""By name, because it stands on a higher floor: it reads rows and changes. A commit that took it as an argument would
be one that a caller can forget to check."""


def check(latest: Snapshot, manifest: Manifest, scheme: NamingScheme, operation: Operation) -> None:
    """Refuses a version that the rules of the table do not allow.

    latest: the version that it comes after
    raises: ContractBroken
    """
    if any(key.startswith(_RULES) for key in latest.manifest.config):
        file = VersionFile(manifest.version, manifest_path(manifest.version, scheme), 0)
        import_module(_ENFORCEMENT).enforce(latest, latest.proposed(manifest, file), operation)
