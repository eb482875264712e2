"""Fragments of equal ids, which some early releases wrote: the first one keeps its id, the others get new ones.

The table is read as it is. Before anything else is committed, a commit of its own gives the ids, because changes that
others compute from the version before name fragments by id: this commit is a `Merge`, with which no such change goes
together.
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
    """The operation that gives every fragment of a version an id of its own.

    raises: CorruptFile, also when there are not so many ids
    """
    fragments = own_ids(snapshot, highest=snapshot.manifest.max_fragment_id or 0)
    return Merge(fragments, snapshot.manifest.schema, preserves_nullability=True)


def own_ids(snapshot: Snapshot, *, highest: int) -> tuple[Fragment, ...]:
    """The fragments of a version, each with an id of its own. Writes the deletion files that carry another id now.

    highest: no new id is as low as this
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
                # the name of a deletion file has the id in it
                rows = snapshot.open(fragment).deletions
                file = deletions.write(snapshot.store, next_id, snapshot.version, rows)
                own = dataclasses.replace(own, deletion_file=file)
            next_id += 1
        seen.add(own.id)
        fragments.append(own)
    return tuple(fragments)
