"""Writes: statements that write files, and the commit that creates a version with them."""
