"""Audit of row ids and row versions against the recorded transactions.

audit_report  faults, the affected rows, and the affected queries
audited_rows  the live rows of fragments with their ids and versions
findings      faults of one version
invariants    conditions that every version satisfies
rules         the required effect of a commit on lineage, operation by operation
walk          commit by commit through the versions of a table
"""
