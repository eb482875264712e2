"""One data file: footer, metadata of its columns, and reading rows of them.

    page buffers | column metadata | column table | global buffer table | footer

A file is opened by its tail; the metadata of a column is parsed when the column is first read.
"""
