"""An old release, this library and the newest pylance change one table in turns: after every commit all of them read
the same rows, row ids and row versions, and find the same rows through its indices.

Each release has an environment of its own below $LANCE_SQL_OLD_PYLANCE, or ~/.cache/lance-sql/pylance, which is made
when it is missing. What is not compared are defects of the releases, each by its name below.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import lance
import numpy as np
import pytest

import lance_sql
from lance_sql.format.index_files.bloom import BloomFilters
from lance_sql.format.index_files.btree import BTree
from lance_sql.format.index_files.zone_map import ZoneMap
from lance_sql.table.indices import IndexSegment

from . import old_pylance

RELEASES: Final = ("1.0.4", "4.0.2", "8.0.1", "10.0.0", "11.0.0")
ENVIRONMENTS: Final = Path(os.environ.get("LANCE_SQL_OLD_PYLANCE") or Path.home() / ".cache" / "lance-sql" / "pylance")
KINDS: Final = ("zonemap", "btree", "bitmap", "bloomfilter")
COLUMNS: Final = ("k", "a", "s", "f")
LINEAGE: Final = ("_rowid", "_row_created_at_version", "_row_last_updated_at_version")


@cache
def python_of(release: str) -> Path:
    """The interpreter of an environment with this release; the test is skipped where none can be made."""
    folder = ENVIRONMENTS / f"pylance-{release}"
    python = folder / "bin" / "python"
    if not (folder / "is_complete").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        for command in (
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", f"pylance=={release}"],
        ):
            made = subprocess.run(command, capture_output=True, text=True, check=False)
            if made.returncode:
                pytest.skip(f"pylance {release} cannot be installed: {made.stderr.strip()[-200:]}")
        (folder / "is_complete").touch()
    return python


class RefusedError(Exception):
    """Raised for operations that an old release refused."""


class Release:
    """An old release, as a process that executes commands."""

    def __init__(self, release: str) -> None:
        self._process = subprocess.Popen(
            [str(python_of(release)), old_pylance.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._answer() == release

    def call(self, name: str, path: str, **given: Any) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"call": name, "path": path, **given}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise RefusedError(answer["error"])
        return answer["answer"]

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


@contextmanager
def running(release: str) -> Iterator[Release]:
    started = Release(release)
    try:
        yield started
    finally:
        started.close()


class Newest:
    """The pylance of this environment, by the same calls."""

    def call(self, name: str, path: str, **given: Any) -> Any:
        return getattr(old_pylance, name)(path, **given)


class Ours:
    """This library, by the same calls."""

    def call(self, name: str, path: str, **given: Any) -> Any:
        match name:
            case "append":
                return lance_sql.write(old_pylance.table(given["rows"]), path, mode="append")
            case "delete":
                return lance_sql.open(path).delete(given["where"])
            case "update":
                return lance_sql.open(path).update(given["values"], given["where"])
            case "merge":
                return lance_sql.open(path).merge(old_pylance.table(given["rows"]), on="k")
            case "compact":
                return lance_sql.open(path).maintenance.compact(target_rows=given["target"])
            case "index":
                return lance_sql.open(path).indices.create(given["column"], given["kind"], replace=True)
            case "optimize":
                return lance_sql.open(path).indices.optimize()
            case _:
                return lance_sql.open(path).restore(given["version"])


class History:
    """A table, and what happens to it.

    seed: decides everything
    """

    def __init__(self, path: Path, release: str, old: Release, seed: int) -> None:
        self.path = str(path)
        self.release = tuple(map(int, release.split(".")))
        self.random = random.Random(f"{release} {seed}")
        self.old = old
        self.writers: dict[str, Any] = {"old": old, "ours": Ours(), "newest": Newest()}
        self.log: list[str] = []
        self.next_key = 0
        self.is_stable = self.random.random() < 0.6
        version = self.random.choice(["2.0", "2.1"])
        creator = self.random.choice(["old", "newest"])
        self.do(creator, "create", rows=self.rows(40), version=version, stable=self.is_stable)
        self.do(self.random.choice(list(self.writers)), "append", rows=self.rows(40))
        for column in COLUMNS:
            self.index(column)

    def do(self, writer: str, name: str, **given: Any) -> None:
        shown = {key: value for key, value in given.items() if key != "rows"}
        self.log.append(f"{writer} {name} {shown}")
        try:
            self.writers[writer].call(name, self.path, **given)
        except RefusedError as error:
            self.log.append(f"refused: {str(error).strip().splitlines()[-1]}")
            # not every old release can go on from what a newer one has made of indices; nothing has changed then
            if name != "optimize":
                raise

    def rows(self, count: int) -> dict[str, list[Any]]:
        some = self.random
        keys = list(range(self.next_key, self.next_key + count))
        self.next_key += count
        return {
            "k": keys,
            "a": [some.choice([None, *range(8)]) for _ in keys],
            "s": [some.choice([None, "", "a", "ab", "zz"]) for _ in keys],
            "f": [some.choice([None, -1.5, 0.0, 2.0, 9.0]) for _ in keys],
        }

    def index(self, column: str) -> None:
        self.do(self.random.choice(list(self.writers)), "index", column=column, kind=self.random.choice(KINDS))

    def turn(self) -> None:
        some = self.random
        writer = some.choice(list(self.writers))
        bounds = sorted(some.sample(range(self.next_key + 1), 2))
        where = some.choice([f"k >= {bounds[0]} AND k < {min(bounds[1], bounds[0] + 12)}", f"a = {some.randrange(8)}"])
        match some.choice(["append", "append", "delete", "update", "merge", "compact", "compact", "optimize", "index"]):
            case "append":
                self.do(writer, "append", rows=self.rows(some.randrange(1, 30)))
            case "delete":
                self.do(writer, "delete", where=where)
            case "update":
                values = some.choice([{"a": "3"}, {"s": "'ab'", "f": "7.5"}, {"f": "2.0"}])
                self.do(writer, "update", values=values, where=where)
            case "merge":
                self.next_key -= min(5, self.next_key)
                self.do(writer, "merge", rows=self.rows(10))
            case "compact":
                self.do(writer, "compact", target=some.choice([30, 100, 1000]))
            case "optimize":
                self.do(writer, "optimize")
            case _:
                self.index(some.choice(COLUMNS))

    def check(self) -> None:
        columns = [*COLUMNS, *(LINEAGE if self.is_stable else LINEAGE[:1])]
        expected = sort(lance_sql.open(self.path).scan(columns).to_table().to_pydict())
        for name in ("old", "newest"):
            assert sort(self.writers[name].call("read", self.path, columns=columns)) == expected, (name, self.log)
        some = self.random
        place = some.randrange(self.next_key)
        conditions = {
            "k": [f"k = {place}", f"k >= {place} AND k < {place + 10}"],
            "a": [f"a = {some.randrange(8)}", "a IN (1, 5)", "a IS NULL"],
            "s": [f"s = '{some.choice(['', 'a', 'ab'])}'", "s IS NULL"],
            "f": ["f = 2.0", "f < 1.0"],
        }
        plain = lance_sql.open(self.path, use_indices=False)
        for column, texts in conditions.items():
            found = [sorted(plain.scan(["k"], text).to_table()["k"].to_pylist()) for text in texts]
            ours = lance_sql.open(self.path)
            assert [sorted(ours.scan(["k"], text).to_table()["k"].to_pylist()) for text in texts] == found, self.log
            segments = self.segments(column)
            for name, release in (("old", self.release), ("newest", (14, 0, 2))):
                if not self.misread(segments, release):
                    answers = self.writers[name].call("keys", self.path, conditions=texts)
                    if self.has_old_entries(segments):
                        answers = [sorted(set(keys) & set(right)) for keys, right in zip(answers, found, strict=True)]
                    assert answers == found, (column, name, self.log)

    def segments(self, column: str) -> list[IndexSegment]:
        snapshot = lance_sql.open(self.path).snapshot
        (field,) = [field for field in snapshot.manifest.schema.fields if field.name == column]
        return [segment for segment in snapshot.indices() if segment.field_ids == (field.id,)]

    def misread(self, segments: list[IndexSegment], release: tuple[int, ...]) -> bool:
        """Whether a release returns wrong rows, because of a known defect."""
        return (
            self.takes_addresses_for_ids(segments, release)
            or self.covers_what_it_has_not(segments)
            or self.trips_over_gone_fragments(segments, release)
            or self.stumbles_over_old_entries(segments, release)
            or self.mixes_segments(segments)
        )

    def takes_addresses_for_ids(self, segments: list[IndexSegment], release: tuple[int, ...]) -> bool:
        """Before pylance 10, rows of zones are looked up by their addresses as if these were stable row ids."""
        if release >= (10,) or not self.is_stable:
            return False
        rows = lance_sql.open(self.path).scan(["_rowid", "_rowaddr"]).to_table()
        ids, addresses = rows["_rowid"].to_numpy(), rows["_rowaddr"].to_numpy()
        moved = set(np.unique(addresses[ids != addresses] >> np.uint64(32)).tolist())
        return any(
            each.kind is not None and each.kind.is_of_zones and (each.fragment_ids or frozenset()) & moved
            for each in segments
        )

    def covers_what_it_has_not(self, segments: list[IndexSegment]) -> bool:
        """Updates and compactions of pylance before 11 record coverage of fragments without entries in an index of
        addresses; the newest one trusts it.
        """
        snapshot = lance_sql.open(self.path).snapshot
        covered = [set(segment.fragment_ids or ()) & set(snapshot.manifest.fragments.ids) for segment in segments]
        return any(ids - self.known(segment) for segment, ids in zip(segments, covered, strict=True))

    def trips_over_gone_fragments(self, segments: list[IndexSegment], release: tuple[int, ...]) -> bool:
        """pylance 10 ends with an error where an index of addresses has some of fragments that are gone."""
        live = set(lance_sql.open(self.path).snapshot.manifest.fragments.ids)
        return release[0] == 10 and self.is_stable and any(self.known(segment) - live for segment in segments)

    def known(self, segment: IndexSegment) -> set[int]:
        """The fragments that the file of an index of addresses has; all that it covers of others."""
        indices = lance_sql.open(self.path).snapshot.open_indices
        opened = indices.open(segment)
        if isinstance(opened, ZoneMap | BloomFilters):
            return set(opened.zones.fragment_ids.tolist())
        if isinstance(opened, BTree) and not indices.has_row_ids(segment):
            ids = [ids for _, ids in opened.read(np.arange(len(opened.lookup.starts)))]
            return set((np.concatenate([np.empty(0, np.uint64), *ids]) >> np.uint64(32)).tolist())
        return set(segment.fragment_ids or ())

    def has_old_entries(self, segments: list[IndexSegment]) -> bool:
        """An index of row ids may have values that rows had before: they are not removed, and pylance does not test the
        rows again.
        """
        indices = lance_sql.open(self.path).snapshot.open_indices
        return any(indices.has_row_ids(segment) for segment in segments)

    def stumbles_over_old_entries(self, segments: list[IndexSegment], release: tuple[int, ...]) -> bool:
        """Before pylance 10, two entries of one row make the newer one go, or end in an error or a panic."""
        return (
            release < (10,)
            and self.has_old_entries(segments)
            and (release < (2,) or any("optimize" in line for line in self.log))
        )

    def mixes_segments(self, segments: list[IndexSegment]) -> bool:
        """Hits of a segment count for fragments that only another one covers, so that old values come back."""
        kinds = {segment.index_type for segment in segments}
        return len(segments) > 1 and bool(kinds & {"BitmapIndexDetails", "BTreeIndexDetails"})


def sort(table: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    names = sorted(table)
    order = np.argsort(table["k"], kind="stable").tolist()
    return [tuple(table[name][i] for name in names) for i in order]


def run(path: Path, release: str, seed: int, turns: int) -> None:
    with running(release) as old:
        history = History(path, release, old, seed)
        history.check()
        for _ in range(turns):
            history.turn()
            history.check()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("release", RELEASES)
def test_three_releases_in_turns(tmp_path: Path, release: str, seed: int) -> None:
    run(tmp_path / "t", release, seed, 20)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("release", ["4.0.2", "8.0.1"])
def test_old_releases_find_the_same_rows_after_our_compaction(tmp_path: Path, release: str, kind: str) -> None:
    path = str(tmp_path / "t")
    conditions = ["k = 5", "k > 43", "k < 50"]
    rows = {"k": list(range(100)), "a": [0] * 100, "s": ["x"] * 100, "f": [0.0] * 100}
    with running(release) as old:
        old.call("create", path, rows=rows, version="2.1", stable=True)
        old.call("index", path, column="k", kind=kind)
        old.call("delete", path, where="k % 4 = 3")
        expected = [[5], [k for k in range(44, 100) if k % 4 != 3], [k for k in range(50) if k % 4 != 3]]
        assert old.call("keys", path, conditions=conditions) == expected
        lance_sql.open(path).maintenance.compact()
        assert len(lance_sql.open(path).snapshot.manifest.fragments) == 1
        assert old.call("keys", path, conditions=conditions) == expected
    assert Newest().call("keys", path, conditions=conditions) == expected
    assert lance.dataset(path).count_rows() == 75
