-- Rows that were updated long after they were inserted, the latest first.
-- :seconds (number) = 86400 minimum seconds after the insert
-- :limit (number) = 100 maximum number of rows
SELECT
    t._rowid,
    t._row_created_at_version AS created_version,
    t._row_last_updated_at_version AS updated_version,
    c.timestamp AS created,
    u.timestamp AS updated
FROM lance_scan(:table) AS t
JOIN lance_versions(:table) AS c ON c.version = t._row_created_at_version
JOIN lance_versions(:table) AS u ON u.version = t._row_last_updated_at_version
WHERE u.timestamp >= c.timestamp + INTERVAL ':seconds seconds'
    AND t._row_last_updated_at_version > t._row_created_at_version
ORDER BY u.timestamp DESC, t._rowid
LIMIT :limit
