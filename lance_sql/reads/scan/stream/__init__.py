"""Scans as streams of the kernels: runs of batches that these decode and filter ahead, without Python in between."""
