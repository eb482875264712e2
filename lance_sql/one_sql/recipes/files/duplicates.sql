-- Values of key columns that several rows have, the most frequent first.
-- :key (columns) that should tell rows apart
-- :limit (number) = 100 at most so many values
SELECT :key, count(*) AS rows
FROM lance_table(:table)
GROUP BY :key
HAVING count(*) > 1
ORDER BY rows DESC, :key
LIMIT :limit
