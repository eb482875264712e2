"""Files of scalar indices: what they say, one kind a module. Which rows of a table they concern is not known here."""
