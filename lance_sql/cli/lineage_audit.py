"""`lance-sql audit`: an audit with a progress bar, and its report as JSON."""

from __future__ import annotations

import json
from typing import Any, Final

from lance_sql.cli.progress import Bar
from lance_sql.health.lineage_audit.audit_report import Fault, Report
from lance_sql.health.lineage_audit.walk import audit

FAULTS_FOUND: Final = 1

_IDS_SHOWN: Final = 100


def run(path: str, *, version: int | None, tag: str | None, branch: str | None, checksums: bool, quiet: bool) -> Report:
    """Runs `lance_sql.audit` with a progress bar."""
    bar = Bar("versions audited", hidden=quiet)
    try:
        return audit(path, version=version, tag=tag, branch=branch, checksums=checksums, progress=bar.update)
    finally:
        bar.close()


def as_json(report: Report) -> str:
    """Returns the report as one JSON object; includes only the first row ids."""
    content = {
        "uri": report.uri,
        "is_healthy": report.is_healthy,
        "versions": report.versions,
        "without_lineage": report.without_lineage,
        "partly": {str(version): reason for version, reason in report.partly.items()},
        "affected_queries": report.affected_queries,
        "faults": [_fault(fault) for fault in report.faults],
    }
    return json.dumps(content, indent=2)


def _fault(fault: Fault) -> dict[str, Any]:
    version, rows = fault.newest or (None, None)
    return {
        "version": fault.version,
        "operation": fault.operation,
        "fragment": fault.fragment,
        "kind": fault.kind,
        "message": fault.message,
        "rows": fault.num_rows,
        "row_ids": fault.ids[:_IDS_SHOWN].tolist(),
        "newest_version": version,
        "rows_in_newest_version": rows,
        "queries": fault.queries,
    }
