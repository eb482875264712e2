"""Check of a version before its manifest is written: enforced rules of the table may reject it."""

from __future__ import annotations

from typing import Final

from lance_sql.runtime import ports
from lance_sql.table.manifest import Manifest
from lance_sql.table.paths import NamingScheme, manifest_path
from lance_sql.table.snapshot import Snapshot
from lance_sql.table.versions import VersionFile
from lance_sql.writes.commit.operations import Operation

_RULES: Final = "lance_sql.rule."


def check(latest: Snapshot, manifest: Manifest, scheme: NamingScheme, operation: Operation) -> None:
    """Rejects a version that breaks an enforced rule of the table.

    latest: the version before it
    raises: ContractBroken
    """
    if any(key.startswith(_RULES) for key in latest.manifest.config):
        file = VersionFile(manifest.version, manifest_path(manifest.version, scheme), 0)
        ports.ENFORCE_RULES.load()(latest, latest.proposed(manifest, file), operation)
