"""Scans of a version of a table: planned from metadata, then read batch by batch."""
