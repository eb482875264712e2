"""Statements that change a table: each reads a version, writes files, and hands one transaction to the commit floor."""
