-- Values of key columns that several rows have, the most frequent first.
-- :key (columns) key columns
-- :limit (number) = 100 maximum number of values
SELECT :key, count(*) AS rows
FROM lance_table(:table)
GROUP BY :key
HAVING count(*) > 1
ORDER BY rows DESC, :key
LIMIT :limit
