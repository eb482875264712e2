-- Rows that were deleted after a version, tag or time, with the values that they had.
-- :since (version) after which the changes begin
-- :limit (number) = 100 at most so many rows
SELECT *
FROM lance_deletions(:table, since => :since)
ORDER BY _commit_version, _rowid
LIMIT :limit
