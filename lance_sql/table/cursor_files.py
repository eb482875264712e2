"""Places in the feed of a table, durable beside it: how far each consumer of its changes has come.

    _cursors/warehouse/00000000000000000001.json    {"id": "5c1f..", "token": "a1..", "position": 40, ..}
    _cursors/warehouse/00000000000000000002.json    {"id": "5c1f..", "token": "b7..", "position": 42, ..}

The record with the highest number counts. Whoever moves a cursor creates the one after it, which only one of several
can do: all that is asked of a store is to create a file that does not exist yet, as for the versions of a table. A
record names the ones before it, by which who has lost an answer finds out whether it was carried out. Older records are
removed, the last one never: a cursor that is dropped leaves one that says so.

The folder belongs to this library; other implementations do not look at it, and the cleanup of none removes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from lance_sql.errors import CorruptFile, InvalidArgument, LanceError, RetryableConflict, VersionNotFound, at
from lance_sql.store import Store
from lance_sql.table import refs
from lance_sql.table.paths import CURSORS
from lance_sql.table.version_names import unknown_name

_MAX_BYTES: Final = 64 * 1024
_DIGITS: Final = 20
_NUM_FORMER: Final = 64
"""So many moves later, one whose answer was lost still finds out that it was carried out."""
_NUM_RECORDS: Final = 4
"""So many records stay; one is enough."""
_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a cursor began: see `CursorRecord` for the names."""

    position: int
    commit: str | None
    needs_snapshot: bool


@dataclass(frozen=True, slots=True)
class CursorRecord:
    """Where a cursor is. Immutable; a move makes another one.

    id: of the cursor, as long as it is moved by what is read; another one from the moment on that it is put elsewhere
    branch: whose changes are read; None for main
    position: the last version whose changes were taken
    commit: the identity of the commit that made it, see `Snapshot.token`; None where there was no such version, or an
        earlier release has written the record
    needs_snapshot: the rows of version `position` are still to be taken, all of them, before any change
    origin: where the cursor began with this id; None where an earlier release has written the record
    number: of the record; 0 of one that is not stored yet
    former: tokens of the records before, the youngest first
    """

    name: str
    id: str
    branch: str | None
    position: int
    needs_snapshot: bool
    created_at: datetime
    updated_at: datetime
    is_dropped: bool = False
    number: int = 0
    token: str = field(default_factory=lambda: uuid4().hex)
    former: tuple[str, ...] = ()
    commit: str | None = None
    origin: Origin | None = None

    @classmethod
    def first(
        cls, name: str, branch: str | None, position: int, commit: str | None, *, needs_snapshot: bool
    ) -> CursorRecord:
        """Of a new cursor.

        raises: InvalidArgument for a name that no cursor can have
        """
        check_name(name)
        now = datetime.now(UTC)
        origin = Origin(position, commit, needs_snapshot)
        return cls(name, uuid4().hex, branch, position, needs_snapshot, now, now, commit=commit, origin=origin)

    @property
    def is_new(self) -> bool:
        """Whether the cursor is where it was created, and no other cursor had its name before."""
        return self.number == 1

    def at_origin(self) -> CursorRecord:
        """The record with the position that the cursor had before its first run.

        raises: InvalidArgument where an earlier release has not stored it
        """
        if self.origin is None:
            raise InvalidArgument(
                f"The cursor {self.name!r} was created by an earlier release, which did not store where it began: give"
                " the position that your consumer has, or seek"
            )
        place = self.origin
        return replace(self, position=place.position, commit=place.commit, needs_snapshot=place.needs_snapshot)


def check_name(name: str) -> None:
    """Makes sure that a cursor can have this name; the rules are those of tags.

    raises: InvalidArgument
    """
    refs.check_name(name, "cursor")


def read(store: Store, name: str) -> CursorRecord | None:
    """Where a cursor is; None where there is none, or it was dropped.

    store: of the main branch
    raises: InvalidArgument, CorruptFile
    """
    record = _newest(store, name)
    return None if record is None or record.is_dropped else record


def existing(store: Store, name: str, table: str) -> CursorRecord:
    """The same, where there has to be one.

    raises: VersionNotFound
    """
    record = read(store, name)
    if record is None:
        raise VersionNotFound(unknown_name("cursor", name, table, (each.name for each in read_all(store))))
    return record


def read_all(store: Store) -> list[CursorRecord]:
    """Every cursor of a table, by name."""
    records = (read(store, name) for name in sorted(store.folders(CURSORS)))
    return [record for record in records if record is not None]


def create(store: Store, record: CursorRecord) -> CursorRecord:
    """Stores the first record of a cursor; another writer's where that was first.

    raises: UnsupportedFeature where the store cannot create a file that only one of several writers creates
    """
    for _ in range(_ATTEMPTS):
        newest = _newest(store, record.name)
        if newest is not None and not newest.is_dropped:
            return newest
        with suppress(RetryableConflict):
            return _put(store, newest, record)
    raise RetryableConflict(f"the cursor {record.name!r} is created and dropped by others all the time")


def move(
    store: Store,
    record: CursorRecord,
    position: int,
    commit: str | None,
    *,
    needs_snapshot: bool = False,
    elsewhere: bool = False,
) -> CursorRecord:
    """Moves a cursor from where a record has it.

    position, commit: see `CursorRecord`
    elsewhere: not on from there: what was written of its changes says nothing of those to come
    raises: RetryableConflict when it is not there any longer
    """
    new = replace(record, position=position, commit=commit, needs_snapshot=needs_snapshot)
    if elsewhere:
        new = replace(new, id=uuid4().hex, origin=Origin(position, commit, needs_snapshot))
    return _put(store, record, new)


def drop(store: Store, name: str, table: str) -> None:
    """Removes a cursor, also one whose record is damaged.

    raises: VersionNotFound where there is none; RetryableConflict when it was moved meanwhile
    """
    try:
        record = existing(store, name, table)
    except CorruptFile:
        # nothing of it is known but its number
        record = replace(
            CursorRecord.first(name, None, 0, None, needs_snapshot=False), number=max(_numbers(store, name))
        )
    _put(store, record, replace(record, is_dropped=True))


def _put(store: Store, before: CursorRecord | None, record: CursorRecord) -> CursorRecord:
    """Stores a record as the one after `before`.

    raises: RetryableConflict when there is another one after it
    """
    number = 1 if before is None else before.number + 1
    former = () if before is None else (before.token, *before.former)[:_NUM_FORMER]
    new = replace(record, number=number, token=uuid4().hex, former=former, updated_at=datetime.now(UTC))
    # one that exists may be ours, whose request was carried out, got no answer and was sent again
    with suppress(FileExistsError):
        store.put(_path(new.name, number), _to_json(new), mode="create")
    newest = _newest(store, new.name)
    if newest is None or new.token not in (newest.token, *newest.former):
        # the place was free because younger records were there, and this one was removed
        if newest is not None and newest.number > number:
            _remove(store, new)
        raise RetryableConflict(f"the cursor {new.name!r} was moved by somebody else")
    _remove_old(store, newest)
    return new


def _remove(store: Store, record: CursorRecord) -> None:
    with suppress(OSError, LanceError):
        path = _path(record.name, record.number)
        if _parsed(record.name, record.number, store.tail(path, _MAX_BYTES)).token == record.token:
            store.delete(path)


def _remove_old(store: Store, newest: CursorRecord) -> None:
    # what cannot be removed now is removed after the next move
    with suppress(OSError, LanceError):
        for number in _numbers(store, newest.name):
            if number <= newest.number - _NUM_RECORDS:
                store.delete(_path(newest.name, number))


def _newest(store: Store, name: str) -> CursorRecord | None:
    check_name(name)
    for _ in range(_ATTEMPTS):
        number = max(_numbers(store, name), default=None)
        if number is None:
            return None
        path = _path(name, number)
        with at(file=path):
            try:
                return _parsed(name, number, store.tail(path, _MAX_BYTES))
            except FileNotFoundError:
                # others have moved it since
                continue
    raise RetryableConflict(f"the cursor {name!r} is moved by others all the time")


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
        "dropped": record.is_dropped,
        "createdAt": record.created_at.isoformat(),
        "updatedAt": record.updated_at.isoformat(),
        "former": list(record.former),
    }
    return json.dumps(content, indent=1).encode()


def _parsed(name: str, number: int, tail: tuple[int, Any]) -> CursorRecord:
    """What a file holds.

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
        )
    except (ValueError, RecursionError, TypeError, LookupError) as error:
        raise CorruptFile(f"not the record of a cursor ({error!r}); drop the cursor and create it again") from error
    if (
        not all(isinstance(each, str) for each in (record.id, record.token, *record.former))
        or not isinstance(record.branch, str | None)
        or not isinstance(record.commit, str | None)
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
            f"The cursor {record.name!r} of {table} reads the branch {own!r}, not {branch or 'main'!r}: open that one,"
            " or create a cursor of another name"
        )


def _origin(position: object, commit: object, needs_snapshot: object) -> Origin:
    if not isinstance(position, int) or not isinstance(commit, str | None) or not isinstance(needs_snapshot, bool):
        raise TypeError("no place of a cursor")
    return Origin(position, commit, needs_snapshot)
