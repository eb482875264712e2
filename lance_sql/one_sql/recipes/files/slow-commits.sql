-- The changes that took longest, as far as their writer says.
-- :limit (number) = 20 at most so many commits
SELECT version, timestamp, operation, duration_ms, inserted, updated, deleted, files_written, bytes_written, job
FROM lance_versions(:table)
WHERE duration_ms IS NOT NULL
ORDER BY duration_ms DESC, version
LIMIT :limit
