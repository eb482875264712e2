"""A new version of a table: what changed, whether it goes together with what others changed, and the one atomic step.

operations         what changed, as values; `transactions` are their messages
committer          the protocol:
  conflicts          may this be committed after that?
  rebase             what has to change so that it may
  manifest_builder   the next manifest, one function for each operation, on a `draft`
clones, cleanup    the other ways in which versions begin and end
"""
