"""What a process has of its own: caches, their memory, progress, the terminal."""
