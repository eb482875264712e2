"""Changing a table: statements that write files, and the commit that makes a version of them."""
