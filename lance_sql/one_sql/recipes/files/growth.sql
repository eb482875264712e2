-- Rows and bytes added and removed, by day.
SELECT
    date_trunc('day', timestamp) AS day,
    count(*) AS commits,
    sum(coalesce(inserted, 0)) AS inserted,
    sum(coalesce(updated, 0)) AS updated,
    sum(coalesce(deleted, 0)) AS deleted,
    sum(coalesce(bytes_written, 0)) AS bytes_written,
    max(version) AS last_version
FROM lance_versions(:table)
GROUP BY date_trunc('day', timestamp)
ORDER BY day
