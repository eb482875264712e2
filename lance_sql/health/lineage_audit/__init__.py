"""Audit of row ids and row versions against the recorded transactions.

lineage       version by version, each against its commit
faults        faults, the affected rows, and the affected queries
audited_rows  the live rows of fragments with their ids and versions
invariants    conditions that every version satisfies
rules         the required effect of a commit on lineage, operation by operation
"""
