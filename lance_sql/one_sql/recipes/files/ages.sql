-- How many live rows each version inserted, and how many of them were updated since.
SELECT
    _row_created_at_version AS version,
    count(*) AS rows,
    count(*) FILTER (WHERE _row_last_updated_at_version > _row_created_at_version) AS updated_since
FROM lance_scan(:table)
GROUP BY _row_created_at_version
ORDER BY version
