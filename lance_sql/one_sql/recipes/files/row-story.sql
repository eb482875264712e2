-- Every image of one row, with its period of validity.
-- :row (number) the row's _rowid
SELECT *
FROM lance_row_history(:table)
WHERE _rowid = :row
ORDER BY valid_from_version
