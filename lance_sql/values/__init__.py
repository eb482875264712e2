"""Values and sets of rows: what every other folder computes with."""
