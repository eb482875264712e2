"""Lance tables in DataFusion.

    lance_scan('path', version or tag, as_of, ...)
                                            a table function, with system columns; DataFusion has no named arguments.
                                            The path may name the version itself, as in 'orders.lance@41'
    lance_table('path', version or tag, as_of, ...)
                                            the same without system columns
    lance_versions('path', version or tag), lance_files, lance_fragments, lance_columns, lance_indices, ...
                                            metadata tables
    lance_changes('path', start, end, since, mode, drop_unchanged, trust_snapshots, key, branch, origin)
    lance_insertions('path', start, end, since), lance_deletions, lance_row_history('path', start, end, branch)
                                            the change feed; bounds are versions, tags or times, or NULL
    lance_vector_search('path', 'v', '[1, 2]', k, filter, prefilter, version, tag, branch, as_of, since, metric, ...)
                                            the rows with the nearest vectors; the vector is JSON, as text
    lance_fts, lance_hybrid_search, lance_vector_join, lance_search_changes
                                            the other searches
    FROM name                               a table registered under a name, with its own columns

DataFusion pushes filters down completely, and reads a partition for each task of a scan.
"""
