"""Data files that one version has and another does not."""

from __future__ import annotations

from lance_sql.table.fragment import DataFile, Fragment
from lance_sql.table.fragments import Fragments


def new_files(mine: Fragments, theirs: Fragments) -> list[tuple[Fragment, DataFile]]:
    """Returns the files of `mine` that `theirs` does not have, with their fragments. Byte-identical fragments are
    not parsed."""
    messages = {theirs.message_bytes(index) for index in range(len(theirs))}
    changed = [mine[index] for index in range(len(mine)) if mine.message_bytes(index) not in messages]
    earlier = theirs.by_id([fragment.id for fragment in changed])
    known = {(file.path, file.base_id) for fragment in earlier.values() for file in fragment.files}
    return [(each, file) for each in changed for file in each.files if (file.path, file.base_id) not in known]
