"""Each kernel against its meaning in NumPy (`oracles`), on pages built here (`pages`), and on damaged input."""
