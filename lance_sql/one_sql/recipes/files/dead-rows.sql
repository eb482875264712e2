-- Fragments by the share of rows in them that were deleted, which a compaction would remove.
-- :share (fraction) = 0 minimum share of deleted rows
SELECT
    fragment,
    rows,
    deleted_rows,
    round(100.0 * deleted_rows / rows, 1) AS percent,
    bytes
FROM lance_fragments(:table)
WHERE deleted_rows > 0 AND deleted_rows >= :share * rows
ORDER BY percent DESC, fragment
