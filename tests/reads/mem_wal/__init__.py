"""Rows of a version and of its write-ahead log."""
