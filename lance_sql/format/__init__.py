"""The file format: data files and files of indices, from bytes to Arrow and back."""
