-- Keys of a version that are missing in the newest one.
-- :key (columns) key columns
-- :since (version) version, tag or time that had the keys
-- :limit (number) = 100 maximum number of values
SELECT *
FROM (
    SELECT :key FROM lance_table(:table, :since)
    EXCEPT
    SELECT :key FROM lance_table(:table)
) AS missing
ORDER BY :key
LIMIT :limit
