-- How many rows each commit inserted, updated and deleted, after a version, tag or time.
-- :since (version) version, tag or time before the first change
SELECT
    _commit_version AS version,
    min(_commit_timestamp) AS committed,
    count(*) FILTER (WHERE _change_type = 'insert') AS inserted,
    count(*) FILTER (WHERE _change_type = 'update_postimage') AS updated,
    count(*) FILTER (WHERE _change_type = 'delete') AS deleted
FROM lance_changes(:table, since => :since)
GROUP BY _commit_version
ORDER BY _commit_version
