"""Encoding of values as buffers: one codec per file, and one tree of encodings. The kernels decode.

An encoding occurs in several contexts. *Mini-block*: the value buffers of the chunks of a page. *Per-value*: the values
of a full-zip page, without their frames. *Block*: one buffer, such as a dictionary. Codecs take blocks (`blocks`).
"""
