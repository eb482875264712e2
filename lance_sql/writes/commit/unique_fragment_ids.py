"""Duplicate fragment ids of some early releases: the first fragment keeps its id, the others get new ones.

The table is read as it is. Before any other commit, a separate commit assigns unique ids, because concurrent
changes computed from the version before refer to fragments by id. This commit is a `Merge`, which conflicts with
all such changes.
"""

from __future__ import annotations

import dataclasses

from lance_sql.errors import CorruptFile
from lance_sql.table import deletions
from lance_sql.table.fragment import Fragment
from lance_sql.table.snapshot import Snapshot
from lance_sql.writes.commit.draft import MAX_FRAGMENT_ID
from lance_sql.writes.commit.operations import Merge


def merge_with_own_ids(snapshot: Snapshot) -> Merge:
    """Returns the operation that gives every fragment of a version a unique id.

    raises: CorruptFile, also if too few ids are left
    """
    fragments = own_ids(snapshot, highest=snapshot.manifest.max_fragment_id or 0)
    return Merge(fragments, snapshot.manifest.schema, preserves_nullability=True)


def own_ids(snapshot: Snapshot, *, highest: int) -> tuple[Fragment, ...]:
    """Returns the fragments of a version with unique ids. Writes deletion files for fragments that get a new id.

    highest: new ids are above this
    """
    manifest = snapshot.manifest
    next_id = max(highest, *manifest.fragments.ids) + 1
    seen: set[int] = set()
    fragments: list[Fragment] = []
    for fragment in manifest.fragments:
        own = dataclasses.replace(fragment, physical_rows=snapshot.open(fragment).num_rows)
        if fragment.id in seen:
            if next_id > MAX_FRAGMENT_ID:
                raise CorruptFile(f"{snapshot.label}: several fragments have the id {fragment.id}, and no id is free")
            own = dataclasses.replace(own, id=next_id)
            if fragment.deletion_file is not None:
                # the name of a deletion file contains the fragment id
                rows = snapshot.open(fragment).deletions
                file = deletions.write(snapshot.store, next_id, snapshot.version, rows)
                own = dataclasses.replace(own, deletion_file=file)
            next_id += 1
        seen.add(own.id)
        fragments.append(own)
    return tuple(fragments)
