"""Enforcement of rules on commits: only the proposed version is checked.

The proposed version is based on the newest one, as it will be committed. If two writers break a rule only together, the
second commit is rejected.
"""

from __future__ import annotations

from typing import Final

from lance_sql.changes.contracts.checks import check_proposed
from lance_sql.changes.contracts.contract_report import ContractReport
from lance_sql.changes.contracts.rules import is_enforced, parse_rule, read_rules
from lance_sql.errors import ContractBroken, LanceError
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.operations import (
    Append,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Overwrite,
    Project,
    Update,
)

_CHANGES: Final = (Append, DataReplacement, Delete, Merge, Overwrite, Project, Update)
"""Operations that may change rows or columns. A restore is not included: it repairs a broken table."""


def enforce(latest: Snapshot, proposed: Snapshot, operation: Operation) -> None:
    """Rejects a version that breaks an enforced rule.

    latest: the newest version, which has the rules
    raises: ContractBroken; InvalidArgument if the new columns do not allow a rule
    """
    if not isinstance(operation, _CHANGES) or not any(map(is_enforced, latest.manifest.config.items())):
        return
    rules = [rule for rule in read_rules(latest).values() if rule.enforce]
    for rule in rules:
        try:
            parse_rule(rule.name, rule.text, rule.severity, proposed)
        except LanceError as error:
            raise ContractBroken(f"{latest.label} has the rule {rule.name}, {rule.text}: {error.message}") from error
    report = check_proposed(latest, proposed, rules)
    if not report.is_kept:
        raise broken(report, "nothing was committed")


def broken(report: ContractReport, outcome: str) -> ContractBroken:
    """Returns the error for a report with a broken rule of severity "error"."""
    rules = "; ".join(f"{each.rule.name}, {each.rule.text}: {each.message}" for each in report.failures)
    return ContractBroken(f"{report.table} breaks rules, and {outcome}: {rules}", report)
