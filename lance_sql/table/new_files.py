"""Data files that one version has and another has not."""

from __future__ import annotations

from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.fragments import Fragments


def new_files(mine: Fragments, theirs: Fragments) -> list[tuple[Fragment, DataFile]]:
    """Files of `mine` that `theirs` has not, with their fragments. Fragments that are the same to the byte are not
    parsed."""
    messages = {theirs.message_bytes(index) for index in range(len(theirs))}
    changed = [mine[index] for index in range(len(mine)) if mine.message_bytes(index) not in messages]
    earlier = theirs.by_id([fragment.id for fragment in changed])
    known = {(file.path, file.base_id) for fragment in earlier.values() for file in fragment.files}
    return [(each, file) for each in changed for file in each.files if (file.path, file.base_id) not in known]
