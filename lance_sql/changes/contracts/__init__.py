"""Contracts: data quality rules, stored with the table and checked on all rows or on changed rows.

rules     the syntax of rules, and their keys in the config of the table
checks    violations of a rule: in all rows, or in those that changed since a version
checked_rows  the rows that a check reads
contract_report  the result of a check
enforcement  rules that reject a commit
"""

from __future__ import annotations

from lance_sql.changes.contracts.checks import check
from lance_sql.changes.contracts.contract_report import ContractReport, RuleResult
from lance_sql.changes.contracts.enforcement import broken
from lance_sql.changes.contracts.rules import Rule, Severity, drop_rule, read_rules, set_rule

__all__ = ["ContractReport", "Rule", "RuleResult", "Severity", "broken", "check", "drop_rule", "read_rules", "set_rule"]
