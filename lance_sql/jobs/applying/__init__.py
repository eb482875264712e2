"""Applying changes: a stream of inserts, updates and deletes by key becomes a table of what is, or of what was when.

events      changes of any source as events: of which key, when, and the row from then on
application one application: parts of the keys, and one commit
latest      the latest row of each key
history     all rows of each key, with the times between which they hold
state       events that the rows of the target do not tell of, in files beside them
target_rows the table: made, widened, its rows found by key, and written
order       which rows have one key, which come first
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from lance_sql.changes.feed import ChangeFeed
from lance_sql.dataset import Dataset
from lance_sql.errors import InvalidArgument
from lance_sql.jobs.applying import history
from lance_sql.jobs.applying.application import Application, Part, Run
from lance_sql.jobs.applying.events import Source, read
from lance_sql.jobs.applying.history import History
from lance_sql.jobs.applying.latest import Latest
from lance_sql.jobs.applying.target_rows import opened
from lance_sql.jobs.distributed import change_rows

__all__ = ["Application", "Part", "Run", "Source", "apply_changes", "choose", "opened", "read", "schema_of"]


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
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset:
    """Brings a table up to date with changes by key, in one commit. Changes that come late, twice or out of order lead
    to the same table as if they had come in order; those that were applied before change nothing, and make no version.

    target: the table, a `Dataset`, a path or a URI; it is made where it is not there yet, and gets columns that it
        lacks
    changes: a change feed, from `Dataset.changes` or a cursor; or rows, as for `lance_sql.write`, each the row of its
        key from then on
    keys: columns that tell rows apart, NULL being a value like others; the primary key of a change feed without it
    sequence_by: columns that say which of two changes of a key is the later one, and may not be NULL. Of changes with
        the same, the one that was applied first counts, and in one call the last one. Without it, that is the order in
        which rows come, and of a change feed the version of the commit
    delete_when: SQL over the columns of the changes: where it is true, the key is deleted. A change feed says that
        itself
    columns, except_columns: which columns go to the table, or which do not
    ignore_null_updates: NULL in a change leaves the value as it is, in all columns or in these
    scd: 1 for a table of the latest rows; 2 for one of all rows that there were, with `valid_from`, `valid_to` (the
        first belongs to the time, the second does not, and is NULL of rows that hold) and `is_current`
    track_history_on, track_history_except: with scd=2, columns of which another value begins a new row, or does not.
        All without it
    properties: of the commit; those of changes that come from a cursor are there by themselves
    returns: a handle on the version that has the changes
    raises: ColumnNotFound; InvalidArgument for what makes no sense, for NULL in `sequence_by`, and for a table that
        changes were applied to in another way; CommitConflict

    >>> changes = [{"id": 1, "city": "Bonn", "at": 1}, {"id": 1, "city": "Köln", "at": 2}]
    >>> lance_sql.apply_changes(path, changes, "id", sequence_by="at").scan(["city"]).to_table().to_pylist()
    [{'city': 'Köln'}]
    """
    source = read(
        changes,
        keys=keys,
        sequence_by=sequence_by,
        delete_when=delete_when,
        columns=columns,
        except_columns=except_columns,
    )
    given = dict(properties or {})
    is_in_order = False
    if isinstance(changes, ChangeFeed):
        given |= changes.properties
        # one commit has the changes of a cursor, and those after come later
        is_in_order = bool(changes.properties) and sequence_by is None
    application = choose(
        source, ignore_null_updates, track_history_on, track_history_except, scd=scd, is_in_order=is_in_order
    )
    # without changes, the way of earlier ones does not matter
    check = application.applied_to if source.events.num_rows else None
    with opened(target, schema_of(source, scd), storage_options, check) as dataset:
        if not source.events.num_rows:
            return dataset
        run = Run(application, lambda job: [application.part(job, source.events)])
        return change_rows(dataset, "apply_changes", run, inserts_by_key=True, properties=given, config=run.config)


def choose(
    source: Source,
    ignore_null_updates: bool | Sequence[str],
    track_history_on: Sequence[str] | None,
    track_history_except: Sequence[str] | None,
    *,
    scd: int,
    is_in_order: bool,
) -> Application:
    """What the arguments of `apply_changes` mean for changes with these columns.

    raises: InvalidArgument
    """
    ignored = _ignored(source, ignore_null_updates)
    if scd == 1:
        if track_history_on is not None or track_history_except is not None:
            raise InvalidArgument("Only a table of all rows that there were (scd=2) tracks history")
        return Latest(source.keys, source.sequence, ignored, is_in_order)
    if scd != 2:
        raise InvalidArgument(f"scd={scd!r} is not 1, the latest rows, or 2, all rows that there were")
    if not source.sequence:
        raise InvalidArgument("A history needs an order: pass sequence_by")
    return History(source.keys, source.sequence, ignored, _tracked(source, track_history_on, track_history_except))


def schema_of(source: Source, scd: int) -> pa.Schema:
    """The columns of a target."""
    return source.events.rows.schema if scd == 1 else history.schema(source)


def _ignored(source: Source, wanted: bool | Sequence[str]) -> tuple[str, ...]:
    """The columns in which NULL leaves the value as it is."""
    names = [name for name in source.events.rows.schema.names if name not in source.keys]
    if isinstance(wanted, bool):
        return tuple(names) if wanted else ()
    chosen = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    _check(chosen, names, "ignore_null_updates")
    return chosen


def _tracked(source: Source, on: Sequence[str] | None, without: Sequence[str] | None) -> tuple[str, ...]:
    """The columns of which another value begins a new row."""
    names = [name for name in source.events.rows.schema.names if name not in source.keys]
    if on is not None and without is not None:
        raise InvalidArgument("Give track_history_on, or track_history_except; not both")
    chosen = on if on is not None else without
    if chosen is None:
        return tuple(names)
    chosen = (chosen,) if isinstance(chosen, str) else tuple(chosen)
    _check(chosen, names, "track_history_on" if on is not None else "track_history_except")
    return chosen if on is not None else tuple(name for name in names if name not in chosen)


def _check(chosen: Sequence[str], names: Sequence[str], argument: str) -> None:
    for name in chosen:
        if name not in names:
            raise InvalidArgument(f"{argument}: {name!r} is not a column of the target, or is a key")
