"""Files of indices: what they say, one kind a module. Which rows of a table they concern is not known here."""
