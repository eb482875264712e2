"""Check of a table for damage: the check, its report, and the report as a page."""

from lance_sql.health.verification.check import audit, verify
from lance_sql.health.verification.verification_report import Problem, Report

__all__ = ["Problem", "Report", "audit", "verify"]
