"""Reads of a version: scans, searches, and rows that are only in the write-ahead log."""
