"""The change feed: which rows the commits of a range of versions inserted, updated and deleted.

history       which versions a range means, and what is recorded of their commits
difference    the fragments in which two versions differ, and the rows that only one of them has
matching      which of these rows are the same, by row id or by key
columns       the columns of the last version in the files of earlier ones
values        whether two images of a row differ
commit        the rows that one commit changed
net           the rows that all commits together changed
plan          the images to be read, and what a filter leaves of them
scan, feed    reading them; what users hold
"""
