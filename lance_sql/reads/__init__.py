"""Reading a version: scans, searches, and rows that are in the write-ahead log only."""
