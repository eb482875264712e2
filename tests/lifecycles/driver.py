"""Random lives of a table: verbs, statements, references, addresses and writers in turn, and a model of all of them.

    python -m tests.lifecycles.driver --seeds 0-99 --steps 60

The model has the rows of each version by its number, what each reference names, and how far branches are published.
After each step every reference is read, by a random address, and so are handles that were opened earlier: a handle
gives the rows of its version, or says that the version is gone, and it finds the newest version of its branch.
"""

from __future__ import annotations

import argparse
import copy
import os
import pickle
import random
import shutil
import sys
import tempfile
import traceback
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeAlias

import lance
import pyarrow as pa

import lance_sql
from lance_sql import (
    CommitConflict,
    Dataset,
    InvalidArgument,
    LanceError,
    TableNotFound,
    UnsupportedFeature,
    VersionNotFound,
)
from lance_sql.table import table_folders

Rows: TypeAlias = dict[int, int]
BRANCHES: Final = ("dev", "etl", "etl/data", "load")
TAGS: Final = ("one", "two")
CURSORS: Final = ("job", "other")
GONE: Final = (VersionNotFound, TableNotFound)


@dataclass
class State:
    """One version: its rows, how far branches are published there, and the last numbered write of each application.

    turns: the number of the write, and another number for each write that was made
    published: the versions of both, and the keys that others had changed by then
    """

    rows: Rows
    turns: dict[str, tuple[int, int]] = field(default_factory=dict)
    published: dict[int, tuple[int, int, frozenset[int]]] = field(default_factory=dict)


@dataclass
class Branch:
    """A branch and all of its versions, cleaned up or not; `number` is another one of each branch that is created."""

    number: int
    parent: str | None
    base: int
    states: dict[int, State]

    @property
    def head(self) -> int:
        return max(self.states)

    @property
    def state(self) -> State:
        return self.states[self.head]


@dataclass
class Table:
    """The table at one path; `number` is unique for each created table."""

    number: int
    branches: dict[str | None, Branch]
    tags: dict[str, tuple[str | None, int]] = field(default_factory=dict)
    cursors: dict[str, str | None] = field(default_factory=dict)


class Life:
    """A table and its model, changed together. The seed decides everything but times."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder, self.name = folder, "t.lance"
        self.log: list[str] = []
        self.next = 0
        self.num_branches = self.num_tables = 0
        self.old: list[tuple[Dataset, Rows]] = []
        self.backup: Table | None = None
        for each in ("a", "b"):
            (folder / each).mkdir()
        self.home = Path.cwd()
        self.connection = lance_sql.connect(catalog=str(folder))
        self.create()

    @property
    def path(self) -> Path:
        return self.folder / self.name

    def run(self, steps: int) -> None:
        try:
            for number in range(steps):
                name = self.random.choice(STEPS)
                self.log.append(name)
                getattr(self, f"do_{name}")()
                self.check()
                if number % 10 == 9:
                    assert lance_sql.verify(self.path).is_healthy, self.log
            report = lance_sql.verify(self.path, deep=True)
            assert report.is_healthy, (str(report), self.log)
        except Exception as error:
            error.add_note(f"steps: {self.log}")
            raise
        finally:
            os.chdir(self.home)

    def say(self, text: object) -> None:
        self.log[-1] += f" {text}"

    # addresses

    def link(self, place: Path) -> str:
        link = self.folder / f"link{abs(hash(str(place)))}.lance"
        if not link.is_symlink():
            link.symlink_to(place)
        return str(link)

    def address(self, branch: str | None) -> tuple[str, str | None]:
        """A path or URI, and the branch to be named with it."""
        place = self.path
        if branch is not None and self.random.random() < 0.5:
            place, branch = place / "tree" / branch, None
        way = self.random.choice(("path", "relative", "file", "link", "dots"))
        text = {
            "path": str(place),
            "relative": os.path.relpath(place),
            "file": f"file://{urllib.parse.quote(str(place))}",
            "link": self.link(place),
            "dots": f"{place}/../{place.name}/",
        }[way]
        return text, branch

    def open(self, branch: str | None) -> Dataset:
        text, named = self.address(branch)
        opened = lance_sql.open(text, branch=named)
        assert opened.branch == branch, (text, named, self.log)
        if self.random.random() < 0.3:
            opened = pickle.loads(pickle.dumps(opened))
        return opened

    # the model

    def create(self) -> None:
        rows = self.new(5)
        table = self.arrow(rows)
        if self.random.random() < 0.5:
            lance_sql.write(table, self.path)
        else:
            lance.write_dataset(table, self.path, enable_stable_row_ids=True)
        self.num_tables += 1
        self.table = Table(self.num_tables, {None: Branch(0, None, 0, {1: State(rows)})})

    def new(self, most: int) -> Rows:
        count = self.random.randint(1, most)
        made = {self.next + number: self.random.randrange(1000) for number in range(count)}
        self.next += count
        return made

    def value(self) -> int:
        self.next += 1
        return 10_000 + self.next

    @staticmethod
    def arrow(rows: Rows) -> pa.Table:
        return pa.table({"id": pa.array(rows, pa.int64()), "v": pa.array(rows.values(), pa.int64())})

    def branch(self) -> tuple[str | None, Branch]:
        name = self.random.choice(list(self.table.branches))
        self.say(f"on {name}")
        return name, self.table.branches[name]

    def some(self, rows: Rows) -> list[int]:
        return self.random.sample(sorted(rows), min(len(rows), self.random.randint(1, 3)))

    def made(self, branch: Branch, version: int, state: State) -> None:
        """A commit made a version; a version that has made nothing is the one before."""
        if version == branch.head:
            assert branch.state.rows == state.rows, self.log
            return
        for between in range(branch.head + 1, version):
            branch.states[between] = copy.deepcopy(branch.state)
        branch.states[version] = state

    def changed(self, branch: Branch, rows: Rows) -> State:
        return State(rows, dict(branch.state.turns), dict(branch.state.published))

    def overwritten(self, branch: Branch, rows: Rows) -> State:
        return State(rows, dict(branch.state.turns))

    def sql_name(self, reference: str | None, engine: str = "duckdb") -> str:
        """The name in SQL of main, a branch or a tag."""
        if engine == "duckdb" and self.random.random() < 0.4:
            table = self.name.removesuffix(".lance")
            names = (f'lake."{table}"', f'lake."{table}@{reference}"', f'lake."{table}"@"{reference}"')
            return names[0] if reference is None else self.random.choice(names[1:])
        text, _ = self.address(None)
        return f"'{text}'" if reference is None else f"'{text.rstrip('/')}@{reference}'"

    def sql(self, text: str, engine: str = "duckdb") -> list[tuple[Any, ...]]:
        self.say(text)
        target = {"connection": self.connection} if engine == "duckdb" else {"engine": engine}
        return lance_sql.sql(text, all_rows=True, **target).fetchall()

    def pylance(self, name: str | None) -> Any:
        dataset = lance.dataset(str(self.path))
        return dataset if name is None else dataset.checkout_version((name, None))

    # steps

    def do_append(self) -> None:
        name, branch = self.branch()
        rows = self.new(4)
        after = self.changed(branch, {**branch.state.rows, **rows})
        if self.random.random() < 0.3:
            made = lance.write_dataset(self.arrow(rows), self.pylance(name), mode="append").version
        elif self.random.random() < 0.5:
            made = lance_sql.write(self.arrow(rows), self.open(name), mode="append").version
        else:
            text, named = self.address(name)
            made = lance_sql.write(self.arrow(rows), text, mode="append", branch=named).version
        self.made(branch, made, after)

    def do_two_steps(self) -> None:
        name, branch = self.branch()
        rows = self.new(4)
        text, named = self.address(name)
        job = lance_sql.begin_write(self.arrow(rows).schema, text, mode="append", branch=named)
        self.do_chdir()
        fragments = pickle.loads(pickle.dumps(job)).write_fragments(self.arrow(rows))
        after = self.changed(branch, {**branch.state.rows, **rows})
        self.made(branch, job.commit(fragments).version, after)

    def do_update(self) -> None:
        name, branch = self.branch()
        value = self.value()
        chosen = self.some(branch.state.rows)
        if not chosen:
            return
        where = f"id IN ({', '.join(map(str, chosen))})"
        after = self.changed(branch, {**branch.state.rows, **dict.fromkeys(chosen, value)})
        if self.random.random() < 0.3:
            dataset = self.pylance(name)
            dataset.update({"v": str(value)}, where=where)
            made = dataset.version
        else:
            made = self.open(name).update({"v": str(value)}, where).version
        self.made(branch, made, after)

    def do_merge(self) -> None:
        name, branch = self.branch()
        rows = {**dict.fromkeys(self.some(branch.state.rows), self.value()), **self.new(2)}
        after = self.changed(branch, {**branch.state.rows, **rows})
        self.made(branch, self.open(name).merge(self.arrow(rows), on="id").version, after)

    def do_delete(self) -> None:
        name, branch = self.branch()
        chosen = self.some(branch.state.rows)
        if not chosen:
            return
        where = f"id IN ({', '.join(map(str, chosen))})"
        after = self.changed(branch, {key: value for key, value in branch.state.rows.items() if key not in chosen})
        if self.random.random() < 0.3:
            dataset = self.pylance(name)
            dataset.delete(where)
            made = dataset.version
        else:
            made = self.open(name).delete(where).version
        self.made(branch, made, after)

    def do_overwrite(self) -> None:
        name, branch = self.branch()
        rows = self.new(4)
        text, named = self.address(name)
        made = lance_sql.write(self.arrow(rows), text, mode="overwrite", branch=named).version
        self.made(branch, made, self.overwritten(branch, rows))

    def do_compact(self) -> None:
        name, branch = self.branch()
        self.made(branch, self.open(name).maintenance.compact().version, self.changed(branch, branch.state.rows))

    def do_maintain(self) -> None:
        name, branch = self.branch()
        opened = self.open(name)
        opened.maintenance.maintain(retain_versions=self.random.choice([1, 3]), dry_run=True)
        done = opened.maintenance.maintain(
            retain_versions=self.random.choice([1, 3]), target_rows=self.random.choice([1, 100])
        )
        assert not done.has_conflicts, (done, self.log)
        head = max([branch.head, *(step.version for step in done.steps if step.version is not None)])
        self.made(branch, head, self.changed(branch, branch.state.rows))

    def do_index(self) -> None:
        name, branch = self.branch()
        made = self.open(name).indices.create("id", self.random.choice(["btree", "bitmap"]), replace=True).version
        self.made(branch, made, self.changed(branch, branch.state.rows))

    def do_numbered(self) -> None:
        name, branch = self.branch()
        last, _ = branch.state.turns.get("app", (0, 0))
        number = last + self.random.choice([0, 1, 1])
        if not number:
            return
        rows = self.new(2)
        text, named = self.address(name)
        made = lance_sql.write(
            self.arrow(rows), text, mode="append", branch=named, txn_app_id="app", txn_version=number
        )
        if number > last:
            after = self.changed(branch, {**branch.state.rows, **rows})
            after.turns["app"] = (number, self.value())
            self.made(branch, made.version, after)

    def do_restore(self) -> None:
        name, branch = self.branch()
        there = [each.version for each in self.open(name).versions() if each.version in branch.states]
        version = self.random.choice(there)
        made = self.open(name).restore(version).version
        self.say(f"{version} as {made}")
        self.made(branch, made, copy.deepcopy(branch.states[version]))

    def do_statement(self) -> None:
        """A statement of SQL that changes main or a branch."""
        name, branch = self.branch()
        kind, text, after = self.random.choice(self.statements(branch))
        self.say(kind)
        engine = "duckdb" if kind == "merge" else self.random.choice(("duckdb", "datafusion"))
        self.sql(text.format(t=self.sql_name(name, engine)), engine)
        self.made(branch, self.open(name).version, after)

    def statements(self, branch: Branch) -> list[tuple[str, str, State]]:
        """Kinds of statements about {t}, with the state after each."""
        rows, new, value = branch.state.rows, self.new(3), self.value()
        values = ", ".join(map(str, new.items()))
        made = [
            ("insert", f"INSERT INTO {{t}} VALUES {values}", self.changed(branch, {**rows, **new})),
            (
                "overwrite",
                f"INSERT OVERWRITE {{t}} SELECT * FROM (VALUES {values}) AS s(id, v)",
                self.overwritten(branch, new),
            ),
            ("optimize", "OPTIMIZE {t}", self.changed(branch, rows)),
        ]
        if chosen := self.some(rows):
            where = f"id IN ({', '.join(map(str, chosen))})"
            kept = {key: each for key, each in rows.items() if key not in chosen}
            merged = {**dict.fromkeys(chosen, value), **new}
            pairs = ", ".join(map(str, merged.items()))
            made += [
                (
                    "update",
                    f"UPDATE {{t}} SET v = {value} WHERE {where}",
                    self.changed(branch, {**rows, **dict.fromkeys(chosen, value)}),
                ),
                ("delete", f"DELETE FROM {{t}} WHERE {where}", self.changed(branch, kept)),
                (
                    "merge",
                    f"MERGE INTO {{t}} AS t USING (SELECT * FROM (VALUES {pairs}) AS x(id, v)) AS s ON t.id = s.id"
                    " WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
                    self.changed(branch, {**rows, **merged}),
                ),
            ]
        return made

    def do_tag(self) -> None:
        name, branch = self.branch()
        tag = self.random.choice(TAGS)
        if tag in self.table.tags:
            self.open(name).tags.move(tag)
        elif self.random.random() < 0.3:
            self.pylance(name).tags.create(tag, branch.head if name is None else (name, branch.head))
        else:
            self.open(name).tags.create(tag)
        self.table.tags[tag] = (name, branch.head)

    def do_delete_tag(self) -> None:
        if self.table.tags:
            tag = self.random.choice(sorted(self.table.tags))
            self.open(None).tags.delete(tag)
            del self.table.tags[tag]

    def do_branch(self) -> None:
        name, branch = self.branch()
        made = self.random.choice(BRANCHES)
        if made in self.table.branches:
            return
        self.say(made)
        self.open(name).branches.create(made)
        self.num_branches += 1
        state = copy.deepcopy(branch.state)
        self.table.branches[made] = Branch(self.num_branches, name, branch.head, {branch.head: state})

    def needed(self, name: str) -> bool:
        tags = any(branch == name for branch, _ in self.table.tags.values())
        return tags or any(each.parent == name for each in self.table.branches.values())

    def do_delete_branch(self) -> None:
        names = [name for name in self.table.branches if name is not None and not self.needed(name)]
        if names:
            name = self.random.choice(names)
            self.say(name)
            self.open(None).branches.delete(name)
            del self.table.branches[name]

    def do_publish(self) -> None:
        names = [name for name in self.table.branches if name is not None]
        if not names:
            return
        name = self.random.choice(names)
        branch, keep = self.table.branches[name], self.needed(name) or self.random.random() < 0.5
        onto = self.table.branches[branch.parent]
        nothing: frozenset[int] = frozenset()
        since, at, earlier = onto.state.published.get(branch.number, (branch.base, branch.base, nothing))
        before, now, theirs_before = branch.states[since], branch.state, onto.states[at]
        mine, theirs = _changes(before.rows, now.rows), _changes(theirs_before.rows, onto.state.rows)
        others = earlier | set(theirs)
        turns = {app: turn for app, turn in now.turns.items() if before.turns.get(app) != turn}
        self.say(f"{name} since {since} onto {branch.parent} since {at}, keep {keep}")
        try:
            made = self.open(branch.parent).branches.publish(name, keep=keep)
        except (CommitConflict, UnsupportedFeature) as error:
            self.say(error)
            both = any(key in others for key in mine if key in before.rows)
            published = [branch.states[each].rows for each in branch.states if branch.base <= each <= since]
            own = since > branch.base and any(
                key not in rows for key in mine if key in before.rows for rows in published
            )
            taken = any(onto.state.turns.get(app) not in (before.turns.get(app), turns[app]) for app in turns)
            assert both or own or taken, ("refused without a reason", self.log)
            return
        rows = dict(onto.state.rows)
        for key, value in mine.items():
            is_same = onto.state.rows.get(key) == value
            assert is_same or not (key in others and key in before.rows), ("a conflict was published", self.log)
            rows.pop(key, None)
            if value is not None:
                rows[key] = value
        if made.version > onto.head:
            after = self.changed(onto, rows)
            after.turns |= turns
            after.published[branch.number] = (branch.head, made.version, frozenset(others))
            self.made(onto, made.version, after)
        else:
            assert rows == onto.state.rows, ("nothing was published", self.log)
        if not keep:
            del self.table.branches[name]

    def do_clone(self) -> None:
        name, branch = self.branch()
        clone = self.open(name).branches.shallow_clone(self.folder / "clone.lance")
        assert _rows(clone) == branch.state.rows, self.log
        table_folders.drop(clone.uri)

    def do_cursor(self) -> None:
        name, branch = self.branch()
        job = self.random.choice(CURSORS)
        if self.table.cursors.get(job, name) != name:
            return
        target = self.folder / f"{job}.lance"
        cursor = self.open(name).cursors.open(job)
        self.table.cursors[job] = name
        is_told, was_lost = False, False
        while not is_told:
            try:
                with cursor.read(mode="net", target=target) as changes:
                    is_told = changes.end < changes.start
                    if changes.is_snapshot and target.exists():
                        table_folders.drop(str(target))
                    lance_sql.apply_changes(target, changes, "id")
                    if self.random.random() < 0.3:
                        raise KeyError("the run dies")
            except KeyError:
                self.say("died")
            except (VersionNotFound, UnsupportedFeature) as error:
                self.say(error)
                if was_lost:
                    raise
                was_lost = True
                if target.exists():
                    table_folders.drop(str(target))
                cursor = self.open(name).cursors.open(job).seek("snapshot")
        if target.exists():
            assert _rows(lance_sql.open(target)) == branch.state.rows, (job, self.log)

    def do_cleanup(self) -> None:
        name, _ = self.branch()
        options: dict[str, Any] = self.random.choice(
            [{"retain_versions": 1}, {"retain_versions": 3}, {"older_than": timedelta(0)}]
        )
        self.open(name).maintenance.cleanup(**options)

    def do_rename(self) -> None:
        if len(self.table.branches) == 1:
            name = "u v.lance" if self.name == "t.lance" else "t.lance"
            table_folders.move(str(self.path), str(self.folder / name))
            self.name, self.backup = name, None
            # a cursor that a restore has lost is known by the place of its table
            self.drop_copies(job for job in CURSORS if job not in self.table.cursors)

    def do_drop(self) -> None:
        if self.random.random() < 0.3:
            table_folders.drop(str(self.path))
            self.create()
            self.drop_copies()

    def drop_copies(self, jobs: Iterable[str] = CURSORS) -> None:
        """Removes the targets of cursors, which another table would add its rows to."""
        for job in jobs:
            if (self.folder / f"{job}.lance").exists():
                table_folders.drop(str(self.folder / f"{job}.lance"))

    def do_back_up(self) -> None:
        shutil.rmtree(self.folder / "backup", ignore_errors=True)
        shutil.copytree(self.path, self.folder / "backup")
        self.backup = copy.deepcopy(self.table)

    def do_put_back(self) -> None:
        if self.backup is not None:
            shutil.rmtree(self.path)
            shutil.copytree(self.folder / "backup", self.path)
            if self.table.number != self.backup.number:
                self.drop_copies()
            self.table = copy.deepcopy(self.backup)

    def do_chdir(self) -> None:
        os.chdir(self.folder / self.random.choice("ab"))

    def do_hold(self) -> None:
        name, branch = self.branch()
        self.old = [*self.old[-4:], (self.open(name), dict(branch.state.rows))]

    # checks

    def check(self) -> None:
        for name, branch in self.table.branches.items():
            opened = self.open(name)
            assert opened.version == branch.head, (name, opened.version, branch.head, self.log)
            assert _rows(opened) == branch.state.rows, (name, self.log)
            if self.random.random() < 0.15:
                assert _rows(self.pylance(name)) == branch.state.rows, (name, self.log)
            if self.random.random() < 0.15:
                engine = self.random.choice(("duckdb", "datafusion"))
                found = self.sql(f"SELECT id, v FROM {self.sql_name(name, engine)}", engine)
                assert dict(found) == branch.state.rows, (name, self.log)
        text, _ = self.address(None)
        assert {
            tag: (ref.branch, ref.version) for tag, ref in lance_sql.open(text).tags.list().items()
        } == self.table.tags
        for tag, (name, version) in self.table.tags.items():
            expected = self.table.branches[name].states[version].rows
            assert _rows(lance_sql.open(self.address(name)[0], tag=tag)) == expected, (tag, self.log)
            if self.random.random() < 0.1:
                assert dict(self.sql(f"SELECT id, v FROM '{self.path}@{tag}'")) == expected, (tag, self.log)
                try:
                    self.sql(f"DELETE FROM '{self.path}@{tag}' WHERE true")
                except InvalidArgument:
                    continue
                raise AssertionError(("a tag was changed", self.log))
        held = []
        for handle, rows in self.old:
            try:
                assert _rows(handle) == rows, (handle, self.log)
                self.check_newest(handle)
                held.append((pickle.loads(pickle.dumps(handle)) if self.random.random() < 0.3 else handle, rows))
            except GONE:
                pass
        self.old = held

    def check_newest(self, handle: Dataset) -> None:
        branch = self.table.branches.get(handle.branch)
        if branch is not None and Path(handle.snapshot.uri).resolve() == self.path.resolve():
            newest = handle.latest()
            assert newest.version == branch.head, (newest, branch.head, self.log)
            assert _rows(newest) == branch.state.rows, (newest, self.log)


def _rows(table: Any) -> Rows:
    found = table.to_table()
    return dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))


def _changes(before: Rows, now: Rows) -> dict[int, int | None]:
    """Rows that are other ones, or new; None for those that are gone."""
    gone: dict[int, int | None] = {key: None for key in before if key not in now}
    return gone | {key: value for key, value in now.items() if before.get(key) != value}


STEPS: Final = (
    *("append",) * 4,
    *("statement",) * 6,
    *("update",) * 3,
    *("delete",) * 3,
    *("branch",) * 3,
    *("publish",) * 3,
    *("tag",) * 2,
    *("cursor",) * 3,
    *("cleanup",) * 3,
    *("numbered",) * 2,
    *("restore",) * 2,
    "merge",
    "two_steps",
    "overwrite",
    "compact",
    "maintain",
    "index",
    "delete_tag",
    "delete_branch",
    "clone",
    "rename",
    "drop",
    "back_up",
    "put_back",
    "chdir",
    "hold",
)


def live(seed: int, steps: int) -> None:
    """Runs one random life in its own folder."""
    folder = Path(tempfile.mkdtemp(prefix="lance-sql-life-"))
    try:
        Life(folder, seed).run(steps)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lifecycles.driver", description=__doc__)
    parser.add_argument("--seeds", default="0-9")
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    failed = []
    seeds = range(int(first), int(last or first) + 1)
    for seed in seeds:
        try:
            live(seed, options.steps)
        except (AssertionError, LanceError, OSError, ValueError, KeyError, RuntimeError):
            failed.append(seed)
            print(f"seed {seed}")
            traceback.print_exc()
        if seed % 50 == 49:
            print(f"up to seed {seed}, failed: {failed}", flush=True)
    print(f"{len(seeds)} lives of {options.steps} steps, failed: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
