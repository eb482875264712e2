"""Tables with feature flags are changed by both libraries in turns: rows, row ids, row versions, results of filters and
flags equal those of pylance alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.writes.commit import committer
from lance_sql.writes.commit.operations import Update, UpdateMode

from .tables import KINDS, MIXED, STICKY, TAGGED, VERBS, Kind, rows

CONDITIONS = ("k = 57", "k >= 55 AND k < 75", "a = 3", "a IN (4, 99)", "k > 110 AND a = 5", "k = 133 OR a = 1")


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest) -> Iterator[tuple[Kind, Path]]:
    """A table of each kind, which stays as it is."""
    with TemporaryDirectory() as folder:
        kind = KINDS[request.param]
        kind.make(Path(folder) / "t")
        yield kind, Path(folder) / "t"


def values(table: pa.Table) -> dict[str, list[object]]:
    ordered = table.sort_by("k")
    return {name: ordered[name].to_pylist() for name in sorted(ordered.column_names)}


def hidden(kind: Kind) -> list[str]:
    return ["_rowid", *(("_row_created_at_version", "_row_last_updated_at_version") if kind.is_stable else ())]


def read_theirs(table: Any, columns: list[str], where: str | None = None) -> dict[str, list[object]]:
    return values(table.scanner(columns=columns, filter=where).to_table())


def check(path: Path, kind: Kind) -> dict[str, list[object]]:
    """Both libraries read the same, with and without indices."""
    ours, without, theirs = lance_sql.open(path), lance_sql.open(path, use_indices=False), lance.dataset(str(path))
    columns = [*ours.schema.names, *hidden(kind)]
    everything = values(ours.scan(columns).to_table())
    assert read_theirs(theirs, columns) == everything
    for where in CONDITIONS:
        expected = values(without.scan(columns, where).to_table())
        assert values(ours.scan(columns, where).to_table()) == expected, where
        assert read_theirs(theirs, columns, where) == expected, where
        assert theirs.count_rows(where) == len(expected["k"]) == ours.count_rows(where)
    assert not lance_sql.verify(path).problems
    return everything


def flags(path: Path) -> tuple[int, int]:
    manifest = lance_sql.open(path).snapshot.manifest
    return manifest.reader_flags, manifest.writer_flags


def pairs() -> Iterator[Any]:
    """Each verb with each flag, and with stable row ids and without; the rest with the slow tests."""
    for name, kind in KINDS.items():
        both = sum(each.flag == kind.flag for each in KINDS.values()) == 2
        for number, verb in enumerate(VERBS):
            is_slow = both and kind.is_stable == bool((number + kind.flag // MIXED) % 2)
            yield pytest.param(name, verb, marks=[pytest.mark.slow] * is_slow, id=f"{name}-{verb}")


@pytest.mark.parametrize(("made", "verb"), list(pairs()), indirect=["made"])
def test_a_verb_does_what_it_does_by_pylance(tmp_path: Path, made: tuple[Kind, Path], verb: str) -> None:
    ours = do_and_compare(tmp_path, made, verb)
    # pylance goes on with what the verb has left; test_both_go_on_in_turns tries more
    for name in ("append", "compact"):
        VERBS[name][1](str(ours))
    check(ours, made[0])
    assert flags(ours)[0] & STICKY == made[0].flag & STICKY


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_both_go_on_in_turns(tmp_path: Path, made: tuple[Kind, Path], verb: str) -> None:
    ours = do_and_compare(tmp_path, made, verb)
    for name in ("append", "update", "delete", "merge", "compact"):
        for turn in (1, 0):
            VERBS[name][turn](str(ours))
            check(ours, made[0])
            assert flags(ours)[0] & STICKY == made[0].flag & STICKY


def do_and_compare(tmp_path: Path, made: tuple[Kind, Path], verb: str) -> Path:
    """The table after a verb of ours, which has left it as pylance's has left another one."""
    kind, source = made
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for path in (ours, theirs):
        shutil.copytree(source, path)
    VERBS[verb][0](str(ours))
    VERBS[verb][1](str(theirs))
    mine, expected = check(ours, kind), check(theirs, kind)
    if verb in ("compact", "merge some columns") and not kind.is_stable:
        # ids are addresses: pylance merges columns in place, and compacts other fragments together
        del mine["_rowid"], expected["_rowid"]
    if verb == "append columns" and kind.is_stable:
        # one version of ours, two of pylance
        for each in (mine, expected):
            del each["_row_created_at_version"], each["_row_last_updated_at_version"]
    assert mine == expected
    if kind.flag == 2048:
        # sequences of new fragments are in the manifest
        assert [word & ~2048 for word in flags(ours)] == [word & ~2048 for word in flags(theirs)]
    else:
        # a merge in place deletes no row
        known = ~1 if verb == "merge some columns" else ~0
        assert [word & known for word in flags(ours)] == [word & known for word in flags(theirs)]
    return ours


def test_appends_to_mixed_versions_may_choose_the_version(tmp_path: Path) -> None:
    kind = KINDS["mixed"]
    kind.make(tmp_path / "t")
    for version in ("2.0", "2.1", None):
        start = 1000 if version is None else 2000 + 100 * int(version[-1])
        lance_sql.write(rows(start, 5), tmp_path / "t", mode="append", file_version=version)
        check(tmp_path / "t", kind)
    found = [fragment.files[0].file_version for fragment in lance_sql.open(tmp_path / "t").snapshot.manifest.fragments]
    assert found[-3:] == [(2, 0), (2, 1), (2, 2)]
    compacted = lance_sql.open(tmp_path / "t").maintenance.compact().snapshot.manifest
    assert {file.file_version for fragment in compacted.fragments for file in fragment.files} == {(2, 2)}
    assert compacted.reader_flags & MIXED
    check(tmp_path / "t", kind)


def test_an_append_makes_no_table_one_of_mixed_versions(tmp_path: Path) -> None:
    lance_sql.write(rows(0, 5), tmp_path / "t")
    with pytest.raises(InvalidArgument, match=r"has data files of version 2\.2: leave file_version='2.1' out"):
        lance_sql.write(rows(5, 5), tmp_path / "t", mode="append", file_version="2.1")


def test_the_flag_outlives_what_it_stands_for(tmp_path: Path) -> None:
    for name, flag in (("mixed", MIXED), ("tagged", TAGGED)):
        path = tmp_path / name
        KINDS[name].make(path)
        lance_sql.write(rows(0, 5), path, mode="overwrite")
        assert flags(path) == (flag, flag)
        lance_sql.open(path).restore(1)
        assert flags(path) == (flag, flag)
        lance_sql.open(path).branches.create("b")
        assert lance_sql.open(path, branch="b").snapshot.manifest.reader_flags == flag | 16
        assert lance.dataset(str(path)).count_rows() == 30


def test_indices_answer_for_rows_that_a_deferred_compaction_moved(tmp_path: Path) -> None:
    path = tmp_path / "t"
    KINDS["tagged"].make(path)
    text = lance_sql.open(path).scan(["k"], "k = 57").explain()
    assert "k_idx (btree): covers 1 of 2 fragments" in text
    assert "rows: 21 of 128" in text
    # rows of both fragments come together, of which the BTREE knows those of one
    lance_sql.open(path).delete("k = 58").indices.create("k", "zonemap", name="k_zones", replace=True)
    lance.dataset(str(path)).optimize.compact_files(defer_index_remap=True)
    assert len(lance_sql.open(path).snapshot.manifest.fragments) == 1
    text = lance_sql.open(path).indices.drop("k_zones").scan(["k"], "k = 57").explain()
    assert "k_idx (btree): covers 1 of 1 fragments" in text
    assert "rows: 21 of 127" in text
    (summary,) = [each for each in lance_sql.open(path).indices.list() if each.name == "k_idx"]
    assert (summary.num_fragments, summary.num_uncovered) == (0, 1)
    check(path, KINDS["tagged"])
    lance_sql.open(path).indices.optimize()
    assert "rows: 1 of 127" in lance_sql.open(path).scan(["k"], "k = 57").explain()
    check(path, KINDS["tagged"])


def test_values_that_change_in_place_leave_what_covers_them_under_old_ids(tmp_path: Path) -> None:
    """pylance changes the values, and then we do with the same data file: the indices are left alike."""
    path = tmp_path / "t"
    KINDS["tagged"].make(path)
    before = lance_sql.open(path).snapshot
    fragment = lance.dataset(str(path)).get_fragments()[0]
    old = fragment.to_table(["k"], with_row_address=True)
    new = pa.table({"_rowaddr": old["_rowaddr"], "a": pa.array([4] * old.num_rows, pa.int32())})
    updated, fields = fragment.update_columns(new, left_on="_rowaddr")
    theirs = lance.LanceOperation.Update(updated_fragments=[updated], fields_modified=fields)
    lance.LanceDataset.commit(str(path), theirs, read_version=before.version)
    changed = lance_sql.open(path).snapshot
    dataset: Any = lance.dataset(str(path), version=before.version)
    dataset.restore()
    ours = Update(
        updated_fragments=tuple(changed.manifest.fragments.by_id({4}).values()),
        fields_modified=tuple(fields),
        mode=UpdateMode.REWRITE_COLUMNS,
    )
    made = committer.commit(lance_sql.open(path).snapshot, ours)
    covered = {each.name: each.fragment_ids for each in made.indices()}
    assert covered == {each.name: each.fragment_ids for each in changed.indices()}
    assert covered["a_idx"] == frozenset()
    assert covered["k_idx"] == frozenset({0, 1, 2, 3})
    check(path, KINDS["tagged"])
