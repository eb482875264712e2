"""Speed as ratios: each script times this library and its peers in turn, in one process, and checks that they agree.

    python -m benchmarks.columns     reading whole columns, against pylance
    python -m benchmarks.engines     queries in DuckDB, against pylance, the official extension and Parquet
    python -m benchmarks.changes     inserted and updated rows of a large table, against pylance
    python -m benchmarks.threads     streams by one core and by all cores
    python -m benchmarks.memory      peak memory of a scan of a table and of one ten times larger

All take --rows; tables are made once and kept in the folder that --data names.
"""
