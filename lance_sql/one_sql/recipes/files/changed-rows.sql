-- Rows that differ from their state at a version, tag or time: at most one change per row.
-- :since (version) version, tag or time before the first change
-- :limit (number) = 100 maximum number of rows
SELECT *
FROM lance_changes(:table, since => :since, mode => 'net')
WHERE _change_type <> 'update_preimage'
ORDER BY _commit_version, _rowid
LIMIT :limit
