-- Commits that inserted duplicates of a key.
-- :key (columns) key columns
SELECT created_version, count(*) AS rows
FROM (
    SELECT
        _row_created_at_version AS created_version,
        row_number() OVER (PARTITION BY :key ORDER BY _row_created_at_version, _rowid) AS number
    FROM lance_scan(:table)
) AS numbered
WHERE number > 1
GROUP BY created_version
ORDER BY created_version
