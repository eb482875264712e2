-- The rows that are different from what they were at a version, tag or time: at most one change of a row.
-- :since (version) after which the changes begin
-- :limit (number) = 100 at most so many rows
SELECT *
FROM lance_changes(:table, since => :since, mode => 'net')
WHERE _change_type <> 'update_preimage'
ORDER BY _commit_version, _rowid
LIMIT :limit
