"""Conversion between Arrow types, by three rules over one implementation.

lossless: users' rows are converted to rows of a table only if no value can change
assignment: computed values are converted like in SQL, which rounds decimals
storage: rows of a table are converted to the form of a data file

conversion: converts values to another type, each exactly, rounded once, or refused; `rounding`, `text`,
    `times` and `nested` are its parts
table: applies the first rule to batches, matching the table's columns by name, for rows from outside; it validates
    batches once
"""
