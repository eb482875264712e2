"""Applying changes (CDC): inserts, updates and deletes by key become a table of the latest rows or of their history.

events      changes of any source as events: key, time, and the row from then on
delivered   changes of a cursor that the target has already
application one application: parts of the keys, and one commit
latest      the latest row of each key
history     all rows of each key, with their validity
state       events that the rows of the target do not contain, in files of their own
target_rows the target: creating, widening, finding rows by key, and writing
order       grouping and ordering of rows by key
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Unpack

import pyarrow as pa

from lance_sql.changes.feed import ChangeFeed
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.jobs.applying import history
from lance_sql.jobs.applying.application import Application, Part, Run
from lance_sql.jobs.applying.delivered import missing
from lance_sql.jobs.applying.events import EventSource, read
from lance_sql.jobs.applying.history import AppliedHistory, has_commit_times
from lance_sql.jobs.applying.latest import Latest
from lance_sql.jobs.applying.target_rows import newest, opened
from lance_sql.jobs.distributed import change_rows
from lance_sql.store.access import Access, AccessOptions
from lance_sql.values.keywords import suggests_keywords
from lance_sql.writes.statements.source import is_typed

__all__ = [
    "Application",
    "EventSource",
    "Part",
    "Run",
    "apply_changes",
    "choose",
    "has_commit_times",
    "missing",
    "opened",
    "read",
    "schema_of",
]


@suggests_keywords
def apply_changes(
    target: object,
    changes: object,
    keys: str | Sequence[str] | None = None,
    *,
    sequence_by: str | Sequence[str] | None = None,
    delete_when: str | None = None,
    columns: Sequence[str] | None = None,
    except_columns: Sequence[str] | None = None,
    ignore_null_updates: bool | Sequence[str] = False,
    track_history_on: Sequence[str] | None = None,
    track_history_except: Sequence[str] | None = None,
    scd: Literal[1, 2] = 1,
    properties: Mapping[str, str] | None = None,
    **access: Unpack[AccessOptions],
) -> Dataset:
    """Applies changes by key to a table, in one commit. Changes that are late, repeated or out of order lead to the
    same table as changes in order. Changes that were applied before change nothing, and make no version.

    target: the table, a `Dataset`, a path or a URI; it is created if it does not exist, and gets columns that it lacks
    changes: a change feed, from `Dataset.changes` or a cursor; or rows, as for `lance_sql.write`, each the row of its
        key from then on
    keys: columns that identify rows; NULL is an ordinary value. The default is the primary key of a change feed
    sequence_by: columns that order the changes of a key; they may not be NULL. If they are equal, the change that
        was applied first wins, and within one call the last one. The default is the order of rows, and for a change
        feed the order of its commits
    delete_when: SQL over the columns of the changes: if it is true, the key is deleted. A change feed contains its
        deletions
    columns, except_columns: the columns to write to the table, or to omit
    ignore_null_updates: NULL in a change keeps the value, in all columns or in these
    scd: 1 for a table of the latest rows; 2 for the history of all rows, with `valid_from` (inclusive), `valid_to`
        (exclusive, NULL for current rows) and `is_current`. In the order of commits, `valid_from` and `valid_to` are
        their times, and `valid_from_version` and `valid_to_version` their versions
    track_history_on, track_history_except: with scd=2, the columns whose changes begin a new row, or do not. All by
        default
    properties: of the commit; those of changes from a cursor are added automatically
    access: keywords of `lance_sql.open`, for a table that is given by its place
    returns: a handle on the version that has the changes
    raises: ColumnNotFound; InvalidArgument for invalid arguments, for NULL in `sequence_by`, and for a table that
        changes were applied to in another way; CommitConflict

    >>> changes = [{"id": 1, "city": "Bonn", "at": 1}, {"id": 1, "city": "Köln", "at": 2}]
    >>> lance_sql.apply_changes(path, changes, "id", sequence_by="at").scan(["city"]).to_table().to_pylist()
    [{'city': 'Köln'}]
    """
    given, is_in_order = dict(properties or {}), False
    target_access = Access.of(**access)
    if isinstance(changes, ChangeFeed) and changes.properties:
        # one commit has the changes of a cursor, and later changes come later
        is_in_order = sequence_by is None
        changes = missing(changes, newest(target, target_access))
        given |= changes.properties
    target_types = None if is_typed(changes) else newest(target, target_access)
    source = read(
        changes,
        table=None if target_types is None else target_types.schema,
        keys=keys,
        sequence_by=sequence_by,
        delete_when=delete_when,
        columns=columns,
        except_columns=except_columns,
        with_commit_times=scd == 2 and has_commit_times(newest(target, target_access)),
    )
    application = choose(
        source, ignore_null_updates, track_history_on, track_history_except, scd=scd, is_in_order=is_in_order
    )
    # without changes, the options of earlier applications do not matter
    check = application.applied_to if source.events.num_rows else None
    with opened(target, schema_of(source, scd), target_access, check) as dataset:
        if not source.events.num_rows:
            return dataset
        run = Run(application, lambda job: [application.part(job, source.events)])
        return change_rows(dataset, "apply_changes", run, inserts_by_key=True, properties=given, config=run.config)


def choose(
    source: EventSource,
    ignore_null_updates: bool | Sequence[str],
    track_history_on: Sequence[str] | None,
    track_history_except: Sequence[str] | None,
    *,
    scd: int,
    is_in_order: bool,
) -> Application:
    """Returns the application for the arguments of `apply_changes` and changes with these columns.

    raises: InvalidArgument
    """
    ignored = _ignored(source, ignore_null_updates)
    if scd == 1:
        if track_history_on is not None or track_history_except is not None:
            raise InvalidArgument("track_history_on and track_history_except need scd=2")
        return Latest(source.keys, source.sequence, ignored, is_in_order)
    if scd != 2:
        raise InvalidArgument(
            f"scd={scd!r} is not supported: pass 1 for the latest rows, or 2 for all rows with their validity"
        )
    if not source.sequence:
        raise InvalidArgument("scd=2 needs an order of the changes: pass sequence_by")
    return AppliedHistory(
        source.keys,
        source.sequence,
        ignored,
        _tracked(source, track_history_on, track_history_except),
        source.has_commit_times,
    )


def schema_of(source: EventSource, scd: int) -> pa.Schema:
    """Returns the schema of a target."""
    return source.events.rows.schema if scd == 1 else history.schema(source)


def _ignored(source: EventSource, wanted: bool | Sequence[str]) -> tuple[str, ...]:
    """Returns the columns in which NULL keeps the value."""
    names = [name for name in source.events.rows.schema.names if name not in source.keys]
    if isinstance(wanted, bool):
        return tuple(names) if wanted else ()
    chosen = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    _check(chosen, names, "ignore_null_updates")
    return chosen


def _tracked(source: EventSource, on: Sequence[str] | None, without: Sequence[str] | None) -> tuple[str, ...]:
    """Returns the columns whose changes begin a new row."""
    names = [name for name in source.events.rows.schema.names if name not in source.keys]
    if on is not None and without is not None:
        raise InvalidArgument("Pass either track_history_on or track_history_except, not both")
    chosen = on if on is not None else without
    if chosen is None:
        return tuple(names)
    chosen = (chosen,) if isinstance(chosen, str) else tuple(chosen)
    _check(chosen, names, "track_history_on" if on is not None else "track_history_except")
    return chosen if on is not None else tuple(name for name in names if name not in chosen)


def _check(chosen: Sequence[str], names: Sequence[str], argument: str) -> None:
    for name in chosen:
        if name not in names:
            raise InvalidArgument(f"{argument}={name!r} is a key, or not a column of the target")
