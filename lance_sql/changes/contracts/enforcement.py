"""Enforcement of rules on commits: only the proposed version is checked.

The proposed version is based on the newest one, as it will be committed. If two writers break a rule only together, the
second commit is rejected.
"""

from __future__ import annotations

import logging
from typing import Final

from lance_sql.changes.contracts.checks import check_proposed
from lance_sql.changes.contracts.contract_report import ContractReport
from lance_sql.changes.contracts.rules import UNUSABLE, Rule, is_enforced, parse_stored, read_rules
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

_LOG: Final = logging.getLogger("lance_sql")
_CHANGES: Final = (Append, DataReplacement, Delete, Merge, Overwrite, Project, Update)
"""Operations that may change rows or columns. A restore is not included: it repairs a broken table."""


def enforce(latest: Snapshot, proposed: Snapshot, operation: Operation) -> None:
    """Rejects a version that breaks an enforced rule, or has columns that do not allow it. Logs other rules that the
    columns no longer allow.

    latest: the newest version, which has the rules
    raises: ContractBroken
    """
    if isinstance(operation, (Merge, Overwrite, Project)):
        _warn(latest, proposed)
    if not isinstance(operation, _CHANGES) or not any(map(is_enforced, latest.manifest.config.items())):
        return
    rules = [rule for rule in read_rules(latest).values() if rule.enforce]
    for rule in rules:
        _check_usable(rule, latest, proposed)
    report = check_proposed(latest, proposed, rules)
    if not report.is_kept:
        raise broken(report, "nothing was committed")


def _warn(latest: Snapshot, proposed: Snapshot) -> None:
    """Logs the rules that are not enforced, and that the proposed columns no longer allow."""
    if proposed.manifest.schema == latest.manifest.schema:
        return
    before = read_rules(latest)
    for rule in read_rules(proposed).values():
        if rule.kind == UNUSABLE and not rule.enforce and before[rule.name].kind != UNUSABLE:
            _LOG.warning("%s: the rule %s, %s: %s", proposed.label, rule.name, rule.text, rule.problem)


def _check_usable(rule: Rule, latest: Snapshot, proposed: Snapshot) -> None:
    """
    raises: ContractBroken for a rule that the proposed columns do not allow
    """
    try:
        parse_stored(rule.name, rule.text, rule.severity, proposed)
    except LanceError as error:
        raise ContractBroken(f"{latest.label} has the rule {rule.name}, {rule.text}: {error.message}") from error


def broken(report: ContractReport, outcome: str) -> ContractBroken:
    """Returns the error for a report with a broken rule of severity "error"."""
    rules = "; ".join(f"{each.rule.name}, {each.rule.text}: {each.message}" for each in report.failures)
    return ContractBroken(f"{report.table} breaks rules, and {outcome}: {rules}", report)
