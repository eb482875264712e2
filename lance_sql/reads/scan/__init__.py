"""Reading a version of a table: what to read is planned from metadata, then read batch by batch."""
