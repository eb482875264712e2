"""Resources of the process: caches, their memory, progress, the terminal."""
