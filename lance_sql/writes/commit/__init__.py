"""Commits: the operation, the conflict check against other commits, and the one atomic step that creates a version.

operations         changes as values; `transactions` converts them to messages
committer          the protocol:
  conflicts          whether this can be committed after that
  rebase             adapts an operation to newer versions
  manifest_builder   the next manifest, one function for each operation, on a `draft`
clones, cleanup    other ways to create and remove versions
"""
