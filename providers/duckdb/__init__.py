"""Lance tables in DuckDB, 1.5 and 2.0, on ordinary connections.

    lance_scan('path', version := 3, tag := 't', branch := 'b', as_of := TIMESTAMP '...')
        a table macro: SELECT * FROM query(__lance_ref(...)). The arguments are constants, so DuckDB calls the Python
        function __lance_ref while it binds the query. That opens the table, leaves it in the caller's frame under a
        fresh name, where DuckDB's scan of Python variables finds it, and returns "FROM" that name. The plan then
        holds the table: columns and filters are pushed into it, and the name remains only while queries
        are bound.
        filter := 'a > 7' leaves out rows that DuckDB cannot leave out, such as those of a join;
        use_indices := false reads without indices; fresh := true reads the table's write-ahead log as well
    lance_scan('lake/*.lance'), lance_scan(['a.lance', 'b.lance'])
        the rows of several tables with equal columns, one after the other; also as a path
    lance_table('path', version := 3, ...)
        the same without system columns, for SELECT *, EXCEPT and rows to be written elsewhere
    lance_versions('path'), lance_files('path', version := 3), lance_fragments, lance_columns, lance_indices,
    lance_statistics, lance_tags, lance_branches
        the metadata of the table
    lance_changes('path', 3, 5, since := 2, mode := 'net', drop_unchanged := true, key := ['id'], branch := 'b')
    lance_insertions('path', 3, 5), lance_deletions('path', 3, 5), lance_row_history('path', 3, 5)
        the change feed, whose bounds are versions, tags or times; origin := true adds the jobs of commits
    lance_vector_search('path', 'v', [..]::FLOAT[], k := 10, filter := 'a > 7', version := 41, since := 40, ...)
    lance_fts('path', 'body', 'words', ...), lance_hybrid_search('path', 'v', [..], 'body', 'words', alpha := 0.5, ...)
        the rows with the nearest vectors, with the words, or both; the arguments are those of the official extension
        and of time travel
    lance_vector_join('path', 'v', 'queries.lance', k := 3), lance_vector_join('path', 'v', [[..], [..]])
        the rows nearest to each of several vectors
    lance_search_changes('path', 41, vector_column := 'v', vector := [..], text_column := 'body', query := 'words')
        how the result of a search has changed since a version
    FROM 'path/x.lance', FROM 'path/x.lance@41', FROM 'path/x.lance@tag'
        a table without system columns, on connections of `connect`: an extension turns such a name into a macro
    FROM lake.x
        a table of a folder attached as `lake`
    FROM dataset
        a Python variable that holds a Dataset, without any of these functions

The macros have one argument that DuckDB evaluates again for each run of a prepared statement, so each run reads the
newest version.
"""
