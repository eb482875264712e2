-- Number of commits and changed rows, by operation and writer.
SELECT
    writer,
    operation,
    count(*) AS commits,
    sum(inserted) AS inserted,
    sum(updated) AS updated,
    sum(deleted) AS deleted,
    sum(bytes_written) AS bytes_written,
    max(timestamp) AS last
FROM lance_versions(:table)
GROUP BY writer, operation
ORDER BY commits DESC, writer, operation
