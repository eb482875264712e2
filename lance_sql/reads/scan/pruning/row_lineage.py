"""Parts of a filter that only read system columns, answered from the manifest; see `reads.scan.lineage`."""

from __future__ import annotations

from typing import Final

from lance_sql.reads.scan import lineage
from lance_sql.reads.scan.candidates import Candidates
from lance_sql.reads.scan.predicates import Predicate, conjuncts
from lance_sql.reads.scan.pruning.source import Evidence


class RowLineage:
    """Row ids, addresses and versions. The answers are exact: these parts are not tested again."""

    name: Final = "row lineage"

    def narrow(self, candidates: Candidates, predicate: Predicate) -> Evidence | None:
        parts = [part for part in conjuncts(predicate) if lineage.is_lineage(part)]
        return Evidence(self.name, lineage.select(candidates, parts)) if parts else None
