"""Named places in the feed of a table, and what is written from there."""
