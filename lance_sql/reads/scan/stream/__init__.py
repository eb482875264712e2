"""Scans as streams of the kernels, which decode and filter runs of batches ahead, without Python in between."""
