"""Whether row ids and row versions are what the transactions say that they must be.

audit_report  what is wrong, which rows it concerns, and which queries
audited_rows  the live rows of fragments with their ids and versions
findings      what is wrong with one version
invariants    what every version has to keep to
rules         what a commit has to make of the version before, operation by operation
walk          commit by commit through the versions of a table
"""
