"""Durable positions in the change feed of a table, one for each consumer, stored beside the table.

    _cursors/warehouse/00000000000000000001.json    {"id": "5c1f..", "token": "a1..", "position": 40, ..}
    _cursors/warehouse/00000000000000000002.json    {"id": "5c1f..", "token": "b7..", "position": 42, ..}

The record with the highest number is the current one. A move creates the next record, which succeeds for one writer
only. The store needs put-if-absent, as for versions. A record lists the tokens of earlier ones, so that a writer
that lost the answer of a request can find out whether it succeeded. Old records are removed, except the last one.
Dropping a cursor writes a last record marked as dropped.

The folder belongs to this library. Other implementations ignore it, and no cleanup removes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from uuid import uuid4

from lance_sql.errors import CorruptFile, InvalidArgument, LanceError, RetryableConflict, VersionNotFound, at
from lance_sql.store import Store
from lance_sql.store.cached import read_twice
from lance_sql.store.put_once import put_once
from lance_sql.table import cursor_ids
from lance_sql.table.paths import CURSORS
from lance_sql.table.version_names import unknown_name
from lance_sql.values import names
from lance_sql.values.records import Record

_MAX_BYTES: Final = 64 * 1024
_DIGITS: Final = 20
_NUM_FORMER: Final = 64
"""Number of later moves after which a writer that lost an answer can still find out that its move succeeded."""
_NUM_RECORDS: Final = 4
"""Number of retained records; one is enough."""
_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class Origin:
    """Initial position of a cursor: see `CursorRecord` for the names."""

    position: int
    commit: str | None
    needs_snapshot: bool


@dataclass(frozen=True, slots=True, repr=False)
class CursorRecord(Record):
    """Position of a cursor. Immutable; a move creates another record.

    id: of the cursor while it advances by reading; a seek gives it a new one, see `cursor_ids`
    branch: of the change feed; None for main
    position: the last consumed version
    commit: the identity of the commit that made it, see `Snapshot.token`; None if there was no such version, or if
        an earlier release wrote the record
    needs_snapshot: all rows of version `position` are still to be read, before any change
    origin: the initial position of this id; None if an earlier release wrote the record
    number: of the record; 0 if not stored yet
    former: tokens of earlier records, the newest first
    delivered: the last version that a target had of this id when the cursor moved; None without a target
    """

    name: str
    id: str = field(repr=False)
    branch: str | None
    position: int
    needs_snapshot: bool
    created_at: datetime
    updated_at: datetime
    is_dropped: bool = field(default=False, repr=False)
    number: int = field(default=0, repr=False)
    token: str = field(default_factory=lambda: uuid4().hex, repr=False)
    former: tuple[str, ...] = field(default=(), repr=False)
    commit: str | None = field(default=None, repr=False)
    origin: Origin | None = field(default=None, repr=False)
    delivered: int | None = None

    @classmethod
    def first(cls, store: Store, name: str, branch: str | None, origin: Origin) -> CursorRecord:
        """Creates the record of a new cursor.

        store: of the main branch
        raises: InvalidArgument for an invalid name
        """
        names.check(name, "cursor")
        folder = store.local_path(CURSORS)
        now, id = datetime.now(UTC), cursor_ids.first(name, store.uri if folder is None else os.path.realpath(folder))
        place = (origin.position, origin.needs_snapshot)
        return cls(name, id, branch, *place, now, now, commit=origin.commit, origin=origin)

    @property
    def is_new(self) -> bool:
        """Whether the cursor is still at its initial position, and no other cursor had its name before."""
        return self.number == 1

    def at_origin(self) -> CursorRecord:
        """Returns the record with the position of the cursor before its first run.

        raises: InvalidArgument if an earlier release did not store it
        """
        if self.origin is None:
            raise InvalidArgument(
                f"The cursor {self.name!r} was created by an earlier release, which did not store its start: pass the"
                " position of your consumer, or seek"
            )
        place = self.origin
        return replace(self, position=place.position, commit=place.commit, needs_snapshot=place.needs_snapshot)

    def at(self, position: int, commit: str | None) -> CursorRecord:
        """Returns the record with another position."""
        return replace(self, position=position, commit=commit, needs_snapshot=False)


def read(store: Store, name: str) -> CursorRecord | None:
    """Returns the current record of a cursor; None for a missing or dropped one.

    store: of the main branch
    raises: InvalidArgument, CorruptFile
    """
    record = _newest(store, name)
    return None if record is None or record.is_dropped else record


def existing(store: Store, name: str, table: str) -> CursorRecord:
    """Returns the current record of a cursor that must exist.

    raises: VersionNotFound
    """
    record = read(store, name)
    if record is None:
        raise VersionNotFound(unknown_name("cursor", name, table, (each.name for each in read_all(store))))
    return record


def read_all(store: Store) -> list[CursorRecord]:
    """Returns every cursor of a table, by name."""
    records = []
    for name in sorted(store.folders(CURSORS)):
        try:
            names.check(name, "cursor")
        except InvalidArgument:
            # a folder of others
            continue
        records.append(read(store, name))
    return [record for record in records if record is not None]


def create(store: Store, record: CursorRecord) -> CursorRecord:
    """Stores the first record of a cursor; returns another writer's record if that came first.

    raises: UnsupportedFeature for a store without put-if-absent
    """
    for _ in range(_ATTEMPTS):
        newest = _newest(store, record.name)
        if newest is not None and not newest.is_dropped:
            return newest
        # the dropped one with this name has delivered changes under its id
        new = record if newest is None else replace(record, id=cursor_ids.following(newest.id))
        with suppress(RetryableConflict):
            return _put(store, newest, new)
    raise RetryableConflict(f"the cursor {record.name!r} is created and dropped by others repeatedly: try again")


def move(store: Store, record: CursorRecord, moved: CursorRecord) -> CursorRecord:
    """Moves a cursor on from a record.

    moved: the record with another position
    raises: RetryableConflict if the cursor has moved since
    """
    return _put(store, record, moved)


def seek(store: Store, record: CursorRecord, to: Origin) -> CursorRecord:
    """Moves a cursor elsewhere, after which the target of the consumer no longer matches the position.

    raises: RetryableConflict if the cursor has moved since
    """
    id = cursor_ids.following(record.id)
    new = replace(record.at(to.position, to.commit), id=id, needs_snapshot=to.needs_snapshot, origin=to, delivered=None)
    return _put(store, record, new)


def drop(store: Store, name: str, table: str) -> None:
    """Removes a cursor, even if its record is damaged.

    raises: VersionNotFound for a missing cursor; RetryableConflict if it has moved since
    """
    try:
        record = existing(store, name, table)
    except CorruptFile:
        # only its number is known
        unknown = CursorRecord.first(store, name, None, Origin(0, None, False))
        record = replace(unknown, number=max(_numbers(store, name)))
    _put(store, record, replace(record, is_dropped=True))


def _put(store: Store, before: CursorRecord | None, record: CursorRecord) -> CursorRecord:
    """Stores a record as the successor of `before`.

    raises: RetryableConflict if another record succeeds it
    """
    number = 1 if before is None else before.number + 1
    former = () if before is None else (before.token, *before.former)[:_NUM_FORMER]
    new = replace(record, number=number, token=uuid4().hex, former=former, updated_at=datetime.now(UTC))
    put_once(store, _path(new.name, number), _to_json(new))
    # another record may have followed it since, and even have removed it
    newest = _newest(store, new.name)
    if newest is None or new.token not in (newest.token, *newest.former):
        # the name was free because newer records exist, and this one was removed
        if newest is not None and newest.number > number:
            _remove(store, new)
        raise RetryableConflict(f"the cursor {new.name!r} was moved by another process: read from it again")
    _remove_old(store, newest)
    return new


def _remove(store: Store, record: CursorRecord) -> None:
    with suppress(OSError, LanceError):
        path = _path(record.name, record.number)
        if _parsed(record.name, record.number, store.tail(path, _MAX_BYTES)).token == record.token:
            store.delete(path)


def _remove_old(store: Store, newest: CursorRecord) -> None:
    # records that cannot be removed now are removed after the next move
    with suppress(OSError, LanceError):
        for number in _numbers(store, newest.name):
            if number <= newest.number - _NUM_RECORDS:
                store.delete(_path(newest.name, number))


def _newest(store: Store, name: str) -> CursorRecord | None:
    names.check(name, "cursor")
    for _ in range(_ATTEMPTS):
        number = max(_numbers(store, name), default=None)
        if number is None:
            return None
        path = _path(name, number)
        with at(file=path):
            try:
                return read_twice(store, path, partial(_read, store, name, number))
            except FileNotFoundError:
                # another writer has moved it since
                continue
    raise RetryableConflict(f"the cursor {name!r} is moved by others repeatedly: try again")


def _read(store: Store, name: str, number: int) -> CursorRecord:
    return _parsed(name, number, store.tail(_path(name, number), _MAX_BYTES))


def _numbers(store: Store, name: str) -> Iterable[int]:
    for info in store.files(f"{CURSORS}/{name}"):
        stem = info.path.rpartition("/")[2].removesuffix(".json")
        if len(stem) == _DIGITS and stem.isascii() and stem.isdecimal():
            yield int(stem)


def _path(name: str, number: int) -> str:
    return f"{CURSORS}/{name}/{number:0{_DIGITS}}.json"


def _to_json(record: CursorRecord) -> bytes:
    content = {
        "id": record.id,
        "token": record.token,
        "branch": record.branch,
        "position": record.position,
        "commit": record.commit,
        "needsSnapshot": record.needs_snapshot,
        "origin": None if record.origin is None else list(astuple(record.origin)),
        "delivered": record.delivered,
        "dropped": record.is_dropped,
        "createdAt": record.created_at.isoformat(),
        "updatedAt": record.updated_at.isoformat(),
        "former": list(record.former),
    }
    return json.dumps(content, indent=1).encode()


def _parsed(name: str, number: int, tail: tuple[int, Any]) -> CursorRecord:
    """Parses the content of a record.

    raises: CorruptFile
    """
    size, content = tail
    if size > _MAX_BYTES:
        raise CorruptFile(f"the record of a cursor has {size} bytes")
    try:
        parsed = json.loads(content.to_pybytes())
        record = CursorRecord(
            name,
            parsed["id"],
            parsed["branch"],
            parsed["position"],
            parsed["needsSnapshot"],
            datetime.fromisoformat(parsed["createdAt"]),
            datetime.fromisoformat(parsed["updatedAt"]),
            parsed["dropped"],
            number,
            parsed["token"],
            tuple(parsed["former"]),
            parsed.get("commit"),
            None if parsed.get("origin") is None else _origin(*parsed["origin"]),
            parsed.get("delivered"),
        )
    except (ValueError, RecursionError, TypeError, LookupError) as error:
        raise CorruptFile(f"not the record of a cursor ({error!r}); drop the cursor and create it again") from error
    if (
        not all(isinstance(each, str) for each in (record.id, record.token, *record.former))
        or not isinstance(record.branch, str | None)
        or not isinstance(record.commit, str | None)
        or not isinstance(record.delivered, int | None)
        or not isinstance(record.position, int)
        or not 0 <= record.position < 2**63
    ):
        raise CorruptFile("not the record of a cursor; drop the cursor and create it again")
    return record


def check_branch(record: CursorRecord, branch: str | None, table: str) -> None:
    """Makes sure that a cursor reads this branch.

    raises: InvalidArgument
    """
    if record.branch != branch:
        own = record.branch or "main"
        raise InvalidArgument(
            f"The cursor {record.name!r} of {table} reads the branch {own!r}, not {branch or 'main'!r}: open that"
            " branch, or create a cursor with another name"
        )


def _origin(position: object, commit: object, needs_snapshot: object) -> Origin:
    if not isinstance(position, int) or not isinstance(commit, str | None) or not isinstance(needs_snapshot, bool):
        raise TypeError("no place of a cursor")
    return Origin(position, commit, needs_snapshot)
