-- Rows that were updated most often after a version, tag or time.
-- :since (version) version, tag or time before the first change
-- :limit (number) = 20 maximum number of rows
SELECT _rowid, count(*) AS updates, max(_commit_version) AS last_version
FROM lance_changes(:table, since => :since)
WHERE _change_type = 'update_postimage'
GROUP BY _rowid
ORDER BY updates DESC, _rowid
LIMIT :limit
