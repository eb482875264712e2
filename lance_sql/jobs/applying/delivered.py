"""Changes of a cursor that a target has already, because a run died between its commit and the move of the cursor."""

from __future__ import annotations

from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.positions import commit_at
from lance_sql.dataset import Dataset
from lance_sql.writes.commit import consumed


def missing(changes: ChangeFeed, target: Dataset | None) -> ChangeFeed:
    """Returns the changes of a feed that a target lacks. Other feeds than those of a cursor are returned as they are,
    and so are changes after a position whose commit the source does not have: they are refused at the commit.

    target: its newest version; None for a new table
    """
    ids = consumed.cursor_ids_of(changes.properties)
    if target is None or not ids:
        return changes
    (id,) = ids
    known = consumed.position(target.snapshot.manifest.config, id)
    if known is None or known.id != id or known.version < changes.start:
        return changes
    history = changes.range.history
    if known.version not in history.files or known.commit not in (None, commit_at(history, known.version)):
        return changes
    last = min(known.version, changes.end)
    rest = ChangeFeed(changes.snapshot, **changes.arguments | {"since": last})
    properties = {} if last == changes.end else consumed.properties(id, last + 1, changes.end, changes.snapshot.token)
    return rest.with_properties(properties, changes.position)
