-- Rows that were deleted after a version, tag or time, with the values that they had.
-- :since (version) version, tag or time before the first change
-- :limit (number) = 100 maximum number of rows
SELECT *
FROM lance_deletions(:table, since => :since)
ORDER BY _commit_version, _rowid
LIMIT :limit
