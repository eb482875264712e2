"""Result of a check of a contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lance_sql.changes.contracts.rules import Rule
from lance_sql.runtime.terminal_text import one_line
from lance_sql.values.keywords import methods_suggest_keywords
from lance_sql.values.records import Page
from lance_sql.values.value_text import as_json


@dataclass(frozen=True, slots=True)
class RuleResult:
    """Result of one rule.

    broken: the number of rows that break it; None if the violation has no number of rows
    message: the violation; empty if there is none
    examples: some of the rows, with the columns of the table
    seconds: the duration of the check
    """

    rule: Rule
    is_kept: bool
    broken: int | None
    message: str
    examples: pa.Table | None
    seconds: float


@methods_suggest_keywords
@dataclass(frozen=True, slots=True, repr=False)
class ContractReport(Page):
    """Result of a check of a contract.

    table: the table with its version
    since: if a rule allows it, only rows that changed after this version were checked; None for all
    """

    table: str
    since: int | None
    results: tuple[RuleResult, ...]

    @property
    def is_kept(self) -> bool:
        """Whether no rule of severity "error" is broken."""
        return not self.failures

    @property
    def broken(self) -> tuple[RuleResult, ...]:
        """Broken rules."""
        return tuple(each for each in self.results if not each.is_kept)

    @property
    def failures(self) -> tuple[RuleResult, ...]:
        """Broken rules of severity "error"."""
        return tuple(each for each in self.broken if each.rule.severity == "error")

    def to_dict(self) -> dict[str, Any]:
        """Returns the report in types of JSON."""
        return {
            "table": self.table,
            "since": self.since,
            "is_kept": self.is_kept,
            "rules": [
                {
                    "name": each.rule.name,
                    "rule": each.rule.text,
                    "severity": each.rule.severity,
                    "is_kept": each.is_kept,
                    "broken": each.broken,
                    "message": each.message,
                    "examples": [] if each.examples is None else [as_json(row) for row in each.examples.to_pylist()],
                    "seconds": round(each.seconds, 6),
                }
                for each in self.results
            ],
        }

    def __str__(self) -> str:
        lines = [f"{one_line(self.table)}, {self._scope}: {len(self.results)} rules, {len(self.broken)} broken"]
        for each in self.results:
            mark = "ok  " if each.is_kept else "FAIL" if each.rule.severity == "error" else "warn"
            message = f": {each.message}" if each.message else ""
            lines.append(one_line(f"  {mark} {each.rule.name}: {each.rule.text}{message}"))
        return "\n".join(lines)

    template = "contract"

    def page_values(self, *, is_part: bool) -> dict[str, Any]:
        """Returns the values for the templates: broken rules first, with some of the rows."""
        order = sorted(self.results, key=lambda each: (each.is_kept, each.rule.severity == "warn"))
        shown = [each for each in order if not each.is_kept]
        rows = [() if each.examples is None else each.examples.to_pylist() for each in shown]
        return {
            "report": self,
            "scope": self._scope,
            "milliseconds": round(sum(each.seconds for each in self.results) * 1000),
            "results": order,
            "failures": [each for each in shown if each.rule.severity == "error"],
            "broken": [
                (
                    each,
                    [] if each.examples is None else each.examples.schema.names,
                    [tuple(row.values()) for row in some],
                )
                for each, some in zip(shown, rows, strict=True)
            ],
        }

    @property
    def _scope(self) -> str:
        return "all rows" if self.since is None else f"rows changed since version {self.since}"

    def __repr__(self) -> str:
        return str(self)
