-- The slowest commits, as recorded by their writers.
-- :limit (number) = 20 maximum number of commits
SELECT version, timestamp, operation, duration_ms, inserted, updated, deleted, files_written, bytes_written, job
FROM lance_versions(:table)
WHERE duration_ms IS NOT NULL
ORDER BY duration_ms DESC, version
LIMIT :limit
