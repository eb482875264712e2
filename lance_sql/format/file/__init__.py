"""One data file: footer, metadata of its columns, and reading of their rows.

    page buffers | column metadata | column table | global buffer table | footer

A file is opened by its tail. The metadata of a column is parsed when the column is first read.

    opening            a leaf of a field   -->  a Column (`column`): of files 2.1 and 2.2 a `kernel_column`
    open_pages         a Column, rows      -->  an `open_column`, which has the readers of the kernels, and its rows
    mapped_columns     opens the columns of a mapped file in one call; `mapped_rows` reads a few rows of several files
    column_rows        rows of Columns     -->  Arrow arrays; `page_parts` and `ahead` fetch their bytes
    writer             batches             -->  pages of `leaf_writer`, and a file around them
    old_files          what files 0.1 and 2.0 need besides, in `format/old_files/`
"""
