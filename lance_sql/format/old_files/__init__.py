"""Files 0.1 and 2.0, and the first files 2.1: lists and structs have columns of their own, and pages no levels.

`opening` is the door; `format.file.old_files` calls it. Reading goes from `path_column` over `array_page` to `codecs`,
and writing from `path_writer` to `encode_array_page`. Python decodes what `kernel_pages` has no reader for.
"""
