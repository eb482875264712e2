"""Conversion between values and buffers: one codec per file, one tree of encodings for every file version.

An encoding occurs in several contexts. *Mini-block*: the value buffers of the chunks of a page, a row range at a time
(`Chunks` of the kernels). *Per-value*: the values of a full-zip page, already without their frames. *Block*: one
buffer, such as a dictionary. *Stored*: a buffer that a tree refers to, or a part of it (`stored`). `codecs` contains
the tables from encoding to codec; a codec returns blocks (`blocks`).
"""
