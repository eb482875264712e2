"""One data file: footer, metadata of its columns, and reading of their rows.

    page buffers | column metadata | column table | global buffer table | footer

A file is opened by its tail. The metadata of a column is parsed when the column is first read.
"""
