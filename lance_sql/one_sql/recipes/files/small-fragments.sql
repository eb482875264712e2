-- Fragments with few rows, which slow scans down.
-- :rows (number) = 100000 maximum rows of a small fragment
SELECT fragment, rows - coalesce(deleted_rows, 0) AS live_rows, data_files, bytes
FROM lance_fragments(:table)
WHERE rows < :rows
ORDER BY live_rows, fragment
