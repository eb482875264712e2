"""`lance_sql.diff`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final, Unpack

import pyarrow as pa

import lance_sql.opening
from lance_sql.changes import bounds
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.history import BranchHistory, origin
from lance_sql.dataset import Dataset
from lance_sql.errors import TABLE_ERRORS, ColumnNotFound, InvalidArgument, VersionNotFound
from lance_sql.format.casts.common_type import plain
from lance_sql.format.casts.json_texts import has_json
from lance_sql.format.schema import Schema
from lance_sql.format.schema.primary_key import naming_columns, primary_key
from lance_sql.health.commit_records import CommitRecord, commit_record
from lance_sql.health.differences import compared_columns, differing_rows
from lance_sql.health.differences.column_rule import ColumnRule
from lance_sql.health.differences.compared_columns import SharedColumns
from lance_sql.health.differences.difference import DataFileChange, Difference, Side
from lance_sql.reads.scan.system_columns import ROW_ID
from lance_sql.runtime.progress import Progress, reporting
from lance_sql.store.access import KEYWORDS, AccessOptions
from lance_sql.store.canonical import canonical_location
from lance_sql.table.fragment import DataFile
from lance_sql.table.fragments import new_files
from lance_sql.table.version_names import no_commit_of, split_name
from lance_sql.values import keys as key_rule
from lance_sql.values.equal_values import Comparison
from lance_sql.values.keywords import check_keywords, suggests_keywords
from lance_sql.values.local_paths import place_text

MAX_ROWS: Final = 100
_VERSIONS: Final = (int, date, timedelta)


@suggests_keywords
def diff(
    a: Dataset | str | os.PathLike[str],
    b: Dataset | str | os.PathLike[str] | int | datetime | date | timedelta | None = None,
    key: str | Sequence[str] | int | datetime | date | timedelta | None = None,
    *,
    job: str | None = None,
    max_rows: int = MAX_ROWS,
    progress: Progress | None = None,
    **access: Unpack[AccessOptions],
) -> Difference:
    """Compares `a` with `b`: columns, rows, cells and files.

    `diff(table, 5, 6)` compares two versions of one table, `diff(table, 5)` version 5 with that of the handle (a time
    stands for the version at that time: `diff(table, timedelta(days=1))`),
    `diff(table)` the version before the handle's, and `diff(table, job="nightly")` those before and after the last run
    of a job.

    For versions of one table with stable row ids, only the changes of the commits between are read, and rows are
    identified by their ids. All others are identified by a key; different tables are read completely. Up to 64 MiB of
    rows are held in memory; larger inputs spill to a temporary folder. Rows are compared by the columns that both have.
    NULL equals NULL, and NaN equals NaN.

    a, b: datasets or paths, such as "orders.lance@41", "orders.lance@audited", "orders.lance@branch"
    key: columns that identify rows, unique in each table; if needed, the default is the table's unenforced primary key
    job: compare the versions before and after the newest commits in a row of this job, instead of `b`
    max_rows: the maximum number of inserted, deleted and updated rows in the result; all are counted
    progress: called with the number of compared rows, and the total
    access: keywords of `lance_sql.open` that say where the files of both tables are and how they are reached
    raises: as `lance_sql.open`; ColumnNotFound; InvalidArgument if a key is needed and none is known, and if two
        compared rows have the same one; UnsupportedFeature as `Dataset.changes`

    >>> str(lance_sql.diff("examples/orders.lance@5", "examples/orders.lance@audited")).splitlines()[-1]
    'No differences.'
    """
    check_keywords("diff", access, KEYWORDS)
    if not isinstance(max_rows, int) or isinstance(max_rows, bool) or max_rows < 0:
        raise InvalidArgument(f"max_rows={max_rows!r} is not a whole number of at least 0")
    after = open_table(a, **access)
    if job is not None:
        if b is not None:
            raise InvalidArgument("Pass either job= or a second table or version")
        before, after = _around(after, job)
    elif b is None:
        before = _at(after, after.version - 1)
    elif isinstance(b, _VERSIONS):
        before, after = _at(after, b), after if key is None else _at(after, _version(key))
        key = None
    else:
        before, after = after, open_table(b, **access)
    if isinstance(key, _VERSIONS):
        raise InvalidArgument(f"key={key!r} is not a column: pass versions as diff(table, 5, 6)")
    keys = None if key is None else [key] if isinstance(key, str) else list(key)
    with reporting(progress):
        return _compared(before, after, keys, max_rows)


def _compared(before: Dataset, after: Dataset, keys: list[str] | None, max_rows: int) -> Difference:
    is_one_table = canonical_location(before.snapshot.main) == canonical_location(after.snapshot.main)
    if is_one_table and _is_in_history(before, after):
        return _versions(before, after, keys, max_rows)
    if is_one_table and _is_in_history(after, before):
        return _versions(after, before, keys, max_rows).reversed()
    return _tables(before, after, _needed(keys, before, after), max_rows, _by_name(before.schema, after.schema), False)


def _around(table: Dataset, job: str) -> tuple[Dataset, Dataset]:
    """Returns the versions before and after the newest commits in a row of a job.

    raises: VersionNotFound if there are none, or if the table began with them
    """
    history = BranchHistory(table.snapshot)
    versions = (version for version in sorted(history.files, reverse=True) if version <= table.version)
    last = next((version for version in versions if origin(history.snapshot_at(version)).job == job), None)
    if last is None:
        known = sorted({found for version in history.files if (found := origin(history.snapshot_at(version)).job)})
        raise VersionNotFound(no_commit_of(table.snapshot.name, job, known))
    first = last
    while first - 1 in history.files and origin(history.snapshot_at(first - 1)).job == job:
        first -= 1
    if first == history.beginning:
        raise VersionNotFound(f"The job {job[:100]!r} created {table.snapshot.name}: there is no version before it")
    return _at(table, first - 1), _at(table, last)


def _at(table: Dataset, version: int | datetime | date | timedelta) -> Dataset:
    history = BranchHistory(table.snapshot)
    return Dataset(history.snapshot_at(version if isinstance(version, int) else bounds.last(history, version)))


def _version(given: object) -> int | datetime | date | timedelta:
    if isinstance(given, _VERSIONS):
        return given
    raise InvalidArgument(f"The second version {given!r} is not a number: pass a number, or two tables and key=")


def open_named(name: str, branch: str | None = None, **access: Unpack[AccessOptions]) -> Dataset:
    """Opens a table by its name for `diff`: "orders.lance", "orders.lance@41", "orders.lance@audited". A name that is
    no tag may be a branch, and means its newest version.

    branch: the branch of the version; main by default
    raises: as `lance_sql.open`
    """
    if branch is None:
        return lance_sql.opening.open(name, **access)
    path, version, tag = split_name(name)
    return lance_sql.opening.open(path, version=tag if version is None else version, branch=branch, **access)


def open_table(table: Dataset | str | os.PathLike[str], **access: Unpack[AccessOptions]) -> Dataset:
    """Opens a table by its name, unless it is open.

    raises: InvalidArgument for anything else; as `open_named`
    """
    if isinstance(table, Dataset):
        return table
    if not isinstance(table, (str, os.PathLike)):
        raise InvalidArgument(f"Cannot open a {type(table).__name__} as a Lance table: pass a Dataset or a path")
    return open_named(place_text(table), **access)


def _is_in_history(earlier: Dataset, later: Dataset) -> bool:
    """Whether one version is in the history of the other."""
    return earlier.version <= later.version and BranchHistory(later.snapshot).has(earlier.branch, earlier.version)


def _versions(before: Dataset, after: Dataset, key: list[str] | None, max_rows: int) -> Difference:
    """Compares two versions of one history."""
    stable = all(each.snapshot.manifest.has_stable_row_ids for each in (before, after))
    chosen = _needed(key, before, after) if key is not None or not stable else None
    try:
        feed = after.changes(since=before.version, mode="net", key=chosen)
        if feed.end < feed.start:
            names = {name: name for name in after.schema.names}
        else:
            was = feed.range.sources(feed.start - 1)
            names = {
                name: source.stored.name
                for name, source in zip(after.schema.names, was, strict=True)
                if source.stored is not None
            }
    except VersionNotFound:
        # A cleanup has removed a version between. Ids are stable, so all rows can be compared by them.
        names = _by_id(before.snapshot.manifest.schema, after.snapshot.manifest.schema)
        return _tables(before, after, chosen or [ROW_ID], max_rows, names, True)
    shared = compared_columns.shared(before.schema, after.schema, names)
    # images of the feed have the later version's names and types
    in_feed = SharedColumns(
        {name: name for name in names},
        {name: plain(after.schema.field(name).type) for name in names},
        (),
    )
    shown = chosen or [ROW_ID, *_label(after, names)]
    differences = differing_rows.RowDifferences(in_feed, tuple(shown), max_rows)
    try:
        if chosen is None:
            differing_rows.by_row_id(feed, differences)
        else:
            _check_key(chosen, shared, before, after)
            differing_rows.by_changed_key(feed, differences, chosen, _names(before, after))
    except InvalidArgument:
        if _keeps_types(feed):
            raise
        # values of a version between may not fit the later type
        return _tables(before, after, chosen or [ROW_ID], max_rows, names, True)
    return _result(before, after, differences, chosen or [ROW_ID], names, (), is_one_table=True)


def _keeps_types(feed: ChangeFeed) -> bool:
    """Whether no column had another type in an earlier version of the feed."""
    versions = range(feed.start - 1, feed.end + 1)
    return all(each.stored is None or each.is_direct for number in versions for each in feed.range.sources(number))


def _tables(
    before: Dataset,
    after: Dataset,
    key: list[str],
    max_rows: int,
    names: Mapping[str, str],
    is_one_table: bool,
) -> Difference:
    """Compares any two tables by reading all rows."""
    shared = compared_columns.shared(before.schema, after.schema, names)
    if key == [ROW_ID]:
        shown = [ROW_ID, *_label(after, names)]
    else:
        shown = key
        _check_key(key, shared, before, after)
    comparisons = _json_comparisons(shared, before, after)
    differences = differing_rows.RowDifferences(shared, tuple(shown), max_rows, comparisons)
    differing_rows.by_key(before, after, differences, key, _names(before, after))
    return _result(before, after, differences, key, names, shared.not_compared, is_one_table=is_one_table)


def _json_comparisons(shared: SharedColumns, before: Dataset, after: Dataset) -> dict[str, Comparison]:
    """Returns comparisons of the columns that are JSON in one table and may be text in the other."""
    was, now = (table.snapshot.manifest.schema.by_name for table in (before, after))
    comparisons: dict[str, Comparison] = {}
    for name, earlier in shared.before.items():
        fields = [field for field in (now[name], was[earlier]) if has_json(field)]
        if len(fields) == 1:
            comparisons[name] = ColumnRule(json=fields[0]).same
    return comparisons


def _needed(key: list[str] | None, before: Dataset, after: Dataset) -> list[str]:
    """Returns the columns that identify rows.

    raises: InvalidArgument if none are known
    """
    if key is not None:
        if not key:
            raise InvalidArgument("key= is empty: pass at least one column")
        for table in (before, after):
            for name in key:
                table.snapshot.manifest.schema.resolve(name, table=table.snapshot.label)
        return key
    key_columns = list(primary_key(after.snapshot.manifest.schema))
    if key_columns and set(key_columns) <= set(before.schema.names):
        return key_columns
    first, second = _names(before, after)
    raise InvalidArgument(
        f"Rows of {first} and {second} cannot be matched by their row ids (_rowid): pass the columns that identify a"
        f" row{_such_as(before, after)}"
    )


def _such_as(before: Dataset, after: Dataset) -> str:
    """Names columns that may be a key of both tables, as an example of the argument."""
    names = list(naming_columns(after.snapshot.manifest.schema))
    if not names or not set(names) <= set(before.schema.names):
        return " (key=[..], --key COLUMNS)"
    return f", such as key={names!r} (--key {','.join(names)})"


def _check_key(key: Sequence[str], shared: SharedColumns, *tables: Dataset) -> None:
    for name in key:
        if shared.before.get(name) != name:
            raise ColumnNotFound(f"Key column {name!r} is missing from a table, or its types cannot be compared")
        is_json = any(table.snapshot.manifest.schema.is_json(name) for table in tables)
        key_rule.check(name, shared.types[name], is_json=is_json)


def _label(table: Dataset, names: Mapping[str, str]) -> Sequence[str]:
    """Returns the columns that name a row for people, if both tables have them."""
    label_columns = naming_columns(table.snapshot.manifest.schema)
    return label_columns if set(label_columns) <= set(names) else ()


def _by_name(before: pa.Schema, after: pa.Schema) -> dict[str, str]:
    return {name: name for name in after.names if name in before.names}


def _by_id(before: Schema, after: Schema) -> dict[str, str]:
    """Maps names in `after` to names in `before`: of the same field, or of the same name if its id no longer exists."""
    by_id = {field.id: field.name for field in before.fields}
    later_ids = {field.id for field in after.fields}
    lost_names = {field.name for field in before.fields if field.id not in later_ids}
    names_before = {}
    for field in after.fields:
        if field.id in by_id:
            names_before[field.name] = by_id[field.id]
        elif field.name in lost_names:
            names_before[field.name] = field.name
    return names_before


def _names(before: Dataset, after: Dataset) -> tuple[str, str]:
    first, second = before.snapshot.label, after.snapshot.label
    return (
        (first, second)
        if first != second
        else (f"{before.uri} version {before.version}", f"{after.uri} version {after.version}")
    )


def _result(
    before: Dataset,
    after: Dataset,
    differences: differing_rows.RowDifferences,
    key: Sequence[str],
    names: Mapping[str, str],
    not_compared: tuple[str, ...],
    *,
    is_one_table: bool,
) -> Difference:
    first, second = _names(before, after)
    order = {name: position for position, name in enumerate(after.schema.names)}
    return Difference(
        before=_side(before, first),
        after=_side(after, second),
        key=tuple(key),
        shown=differences.shown,
        columns=compared_columns.changes(before.schema, after.schema, names),
        not_compared=not_compared,
        rows_inserted=differences.num_inserted,
        rows_deleted=differences.num_deleted,
        rows_updated=differences.num_updated,
        rows_rewritten=differences.num_rewritten,
        cells_updated=dict(sorted(differences.cells.items(), key=lambda each: order[each[0]])),
        inserted=differences.inserted.table(),
        deleted=differences.deleted.table(),
        updated=tuple(differing_rows.updated_rows(differences)),
        files_added=_new_files(after, before) if is_one_table else (),
        files_removed=_new_files(before, after) if is_one_table else (),
        is_one_table=is_one_table,
        commits=_commits(before, after) if is_one_table else (),
    )


def _commits(before: Dataset, after: Dataset) -> tuple[CommitRecord, ...]:
    """Returns the existing commits between two versions of one history."""
    history = BranchHistory(after.snapshot)
    versions = [version for version in sorted(history.files) if before.version < version <= after.version]
    return tuple(commit_record(history.snapshot_at(version)) for version in versions)


def _side(table: Dataset, name: str) -> Side:
    fragments = table.snapshot.manifest.fragments
    sizes = [file.size_bytes for fragment in fragments for file in fragment.files]
    size = sum(sizes) if all(sizes) else None
    return Side(name, table.uri, table.version, table.count_rows(), len(fragments), len(sizes), size)


def _new_files(mine: Dataset, theirs: Dataset) -> tuple[DataFileChange, ...]:
    added = new_files(mine.snapshot.manifest.fragments, theirs.snapshot.manifest.fragments)
    if mine.branch != theirs.branch:
        # a branch names the files of its parent in another way
        others = new_files(theirs.snapshot.manifest.fragments, mine.snapshot.manifest.fragments)
        shared = {_place(theirs, file) for _, file in others}
        added = [(fragment, file) for fragment, file in added if _place(mine, file) not in shared]
    return tuple(
        DataFileChange(f"data/{file.path}", fragment.id, fragment.physical_rows, file.size_bytes or None)
        for fragment, file in added
    )


def _place(table: Dataset, file: DataFile) -> tuple[object, str]:
    """Returns the location of a store and the path of a file there."""
    try:
        store, path = table.snapshot.open_fragments.files.resolve(file)
    except TABLE_ERRORS:
        return file.base_id, file.path
    return canonical_location(store), path
