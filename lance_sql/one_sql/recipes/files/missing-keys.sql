-- Values of key columns that a version had and the newest one has not.
-- :key (columns) that tell rows apart
-- :since (version) that had them
-- :limit (number) = 100 at most so many values
SELECT *
FROM (
    SELECT :key FROM lance_table(:table, :since)
    EXCEPT
    SELECT :key FROM lance_table(:table)
) AS missing
ORDER BY :key
LIMIT :limit
