"""Statements that change a table: each reads a version, writes files, and passes one transaction to the commit."""
