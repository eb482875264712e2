"""Contracts: rules that the rows of a table keep, stored with the table, and checked on all rows or on changed ones.

rules     what a rule is, as it is typed and as the config of the table has it
checks    what breaks a rule: of all rows, or of those that changed since a version
checked_rows  which rows a check looks at
contract_report  what a check has found
enforcement  what a commit refuses
"""

from __future__ import annotations

from lance_sql.changes.contracts.checks import check
from lance_sql.changes.contracts.contract_report import ContractReport, RuleResult
from lance_sql.changes.contracts.enforcement import broken
from lance_sql.changes.contracts.rules import Rule, Severity, drop_rule, read_rules, set_rule

__all__ = ["ContractReport", "Rule", "RuleResult", "Severity", "broken", "check", "drop_rule", "read_rules", "set_rule"]
