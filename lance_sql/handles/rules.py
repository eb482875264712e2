"""Data quality rules of a table, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from lance_sql import changes
from lance_sql.handles.handle import D, Named
from lance_sql.values.records import NamedRecords

if TYPE_CHECKING:
    from lance_sql.changes.bounds import Bound
    from lance_sql.changes.contracts import ContractReport, Rule, Severity
    from lance_sql.writes.commit_options import CommitOptions


@dataclass(frozen=True, repr=False)
class Rules(Named[D, "Rule"]):
    """The data quality rules of a version. Checks evaluate them, and a publication does before it commits.

    >>> table = orders.rules.set("sane-amounts", "amount >= 0")
    >>> table.rules
    Rules(sane-amounts)
    >>> table.rules.check().is_kept
    True
    """

    _kind = "rule"

    def list(self) -> dict[str, Rule]:
        """Returns the data quality rules of the table, by name.

        raises: CorruptFile for a rule that no longer fits the columns
        """
        return NamedRecords(changes.contracts.read_rules(self._snapshot))

    def set(
        self,
        name: str,
        rule: str,
        *,
        severity: Severity = "error",
        enforce: bool = False,
        **options: Unpack[CommitOptions],
    ) -> D:
        """Adds a data quality rule to the table, or replaces it. `check` evaluates it, and `Dataset.branches.publish`
        before it commits.

        rule: `unique(id, day)`, `not_null(id)`, `accepted_values(status, 'open', 'paid')`,
            `foreign_key(customer, 'customers.lance', id)`, `freshness(loaded_at, '1d')`, `row_count_change(-0.1,
            0.5)`, or a condition in SQL that no row breaks
        severity: "error", or "warn" for a rule that does not stop a publication
        enforce: commits of this library that would break the rule raise ContractBroken; existing rows are not checked
        raises: InvalidArgument for a rule that does not fit the table; ColumnNotFound; UnsupportedFeature for
            SQL that a filter cannot have; CommitConflict

        >>> table = orders.rules.set("sane-amounts", "amount >= 0").rules.set("ids", "unique(id)")
        >>> table.rules.check().is_kept
        True
        """
        return self._changed("set_rule", options, changes.contracts.set_rule, name, rule, severity, enforce)

    def drop(self, name: str, **options: Unpack[CommitOptions]) -> D:
        """Removes a rule.

        raises: VersionNotFound if no rule has this name; CommitConflict
        """
        return self._changed("drop_rule", options, changes.contracts.drop_rule, name)

    def check(self, rules: str | Sequence[str] | None = None, *, since: Bound | None = None) -> ContractReport:
        """Checks the rows of this version against the table's data quality rules.

        rules: names of the rules to check; all by default
        since: a version, tag or time: check only rows that changed after it, if a rule allows that
        returns: the broken rules, with rows that break them; they raise no error
        raises: InvalidArgument for unknown rules; as `Dataset.changes`
        """
        return changes.contracts.check(self._snapshot, since, [rules] if isinstance(rules, str) else rules)

    def _by_name(self) -> dict[str, Rule]:
        return changes.contracts.read_rules(self._snapshot)
