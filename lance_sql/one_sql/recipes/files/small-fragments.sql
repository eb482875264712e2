-- Fragments with few rows, which make scans slower than they need be.
-- :rows (number) = 100000 fewer rows than this
SELECT fragment, rows - coalesce(deleted_rows, 0) AS live_rows, data_files, bytes
FROM lance_fragments(:table)
WHERE rows < :rows
ORDER BY live_rows, fragment
