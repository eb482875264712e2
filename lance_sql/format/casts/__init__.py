"""From one Arrow type to another, by three rules over one conversion.

lossless: rows of users become rows of a table only where no value can change
assignment: computed values become a column's as SQL assigns them, where a decimal is rounded
storage: rows of a table become what a data file stores

conversion: the values of one type as those of another, each exactly, rounded once, or refused; `rounding`, `text`,
    `times` and `nested` are its parts
table: the first rule over whole batches, with the table's columns by name, for whoever takes rows from outside; batches
    are validated there, once
"""
