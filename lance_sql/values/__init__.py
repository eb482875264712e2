"""Values and sets of rows, which every other folder uses."""
