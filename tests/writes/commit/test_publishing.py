"""Branches that are published: one commit, ids that stay, and nothing of others lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import CommitConflict, InvalidArgument, UnsupportedFeature, VersionNotFound


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    return lance_sql.write({"id": [1, 2, 3, 4], "v": ["a", "b", "c", "d"]}, tmp_path / "t.lance")


def rows(dataset: Dataset) -> list[tuple[int, int, str]]:
    found = dataset.latest().scan(["_rowid", "id", "v"]).to_table()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True))


def test_a_load_is_published_as_one_commit(table: Dataset) -> None:
    with table.branches.staged("load") as branch:
        lance_sql.write({"id": [5], "v": ["e"]}, branch, mode="append")
        branch.update({"v": "'z'"}, "id = 2")
        branch.delete("id = 3")
    assert len(rows(table)) == 4
    planned = table.branches.plan("load")
    assert (planned.inserted, planned.updated, planned.deleted, planned.is_forward) == (1, 1, 1, True)
    made = table.branches.publish("load", properties={"by": "me"})
    assert made.version == 2
    assert rows(table) == [(0, 1, "a"), (1, 2, "z"), (3, 4, "d"), (4, 5, "e")]
    changes = made.changes(since=1).scan(["_change_type", "id"]).to_table().to_pylist()
    assert sorted((each["_change_type"], each["id"]) for each in changes) == [
        ("delete", 3),
        ("insert", 5),
        ("update_postimage", 2),
        ("update_preimage", 2),
    ]
    assert lance_sql.audit(table.uri).is_healthy
    assert made.branches.list() == {}
    assert lance.dataset(table.uri).to_table(filter="id = 2")["v"].to_pylist() == ["z"]
    lance.dataset(table.uri).delete("id = 1")
    assert len(rows(table)) == 3


def test_concurrent_changes_of_others_stay(table: Dataset) -> None:
    with table.branches.staged("load") as branch:
        branch.update({"v": "'mine'"}, "id = 2")
        lance_sql.write({"id": [5], "v": ["mine"]}, branch, mode="append")
    table.update({"v": "'theirs'"}, "id = 3")
    lance_sql.write({"id": [6], "v": ["theirs"]}, table.uri, mode="append")
    table.latest().delete("id = 4")
    table.latest().maintenance.compact()
    table.branches.publish("load")
    assert [row[1:] for row in sorted(rows(table), key=lambda row: row[1])] == [
        (1, "a"),
        (2, "mine"),
        (3, "theirs"),
        (5, "mine"),
        (6, "theirs"),
    ]
    assert rows(table)[1][0] == 1
    assert lance_sql.audit(table.uri).is_healthy


@pytest.mark.parametrize(("mine", "theirs"), [("update", "update"), ("update", "delete"), ("delete", "update")])
def test_rows_that_both_changed_are_a_conflict(table: Dataset, mine: str, theirs: str) -> None:
    def change(dataset: Dataset, how: str) -> None:
        dataset.delete("id = 2") if how == "delete" else dataset.update({"v": f"'{dataset.branch}'"}, "id = 2")

    with table.branches.staged("load") as branch:
        change(branch, mine)
    change(table, theirs)
    before = rows(table)
    with pytest.raises(CommitConflict, match=r"1 row was changed on t.lance branch 'load' .* such as {'id': 2"):
        table.branches.publish("load")
    assert rows(table) == before
    conflicts = table.branches.plan("load").conflicts
    assert set(conflicts["side"].to_pylist()) == {"branch", "other"}
    assert set(conflicts["id"].to_pylist()) == {2}
    assert "load" in table.branches.list()


def test_a_key_that_both_gave_is_a_conflict(table: Dataset) -> None:
    with table.branches.staged("load") as branch:
        lance_sql.write({"id": [5], "v": ["mine"]}, branch, mode="append")
    lance_sql.write({"id": [5], "v": ["theirs"]}, table.uri, mode="append")
    assert table.branches.plan("load").conflicts.num_rows == 0
    with pytest.raises(CommitConflict):
        table.branches.publish("load", key="id")
    assert table.branches.publish("load").count_rows("id = 5") == 2


SAME: dict[str, Callable[[Dataset], object]] = {
    "update": lambda table: table.update({"v": "'same'"}, "id = 2"),
    "delete": lambda table: table.delete("id = 2"),
    "insert": lambda table: lance_sql.write({"id": [9], "v": ["same"]}, table, mode="append"),
}


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("also", [False, True], ids=["alone", "with other rows"])
@pytest.mark.parametrize("what", SAME)
def test_rows_that_both_made_the_same_are_no_conflict(table: Dataset, what: str, also: bool, kept: bool) -> None:
    with table.branches.staged("load") as branch:
        SAME[what](branch)
        if also:
            lance_sql.write({"id": [7], "v": ["mine"]}, branch.latest(), mode="append")
            branch.latest().update({"v": "'mine'"}, "id = 3")
    SAME[what](table)
    planned = table.branches.plan("load", key="id")
    assert (planned.conflicts.num_rows, planned.inserted, planned.updated, planned.deleted) == (0, also, also, 0)
    made = table.branches.publish("load", key="id", keep=kept)
    assert made.version == 2 + also
    expected = {1: "a", 2: "b", 3: "mine" if also else "c", 4: "d"} | ({7: "mine"} if also else {})
    expected |= {} if what == "delete" else {2 if what == "update" else 9: "same"}
    if what == "delete":
        del expected[2]
    assert {row[1]: row[2] for row in rows(table)} == expected
    assert len(rows(table)) == len(expected)
    assert lance_sql.audit(table.uri).is_healthy


def test_equal_keys_of_unequal_rows_stay_a_conflict(table: Dataset) -> None:
    """Equal inserts are one row only if each side has one of them."""
    with table.branches.staged("twice") as branch:
        lance_sql.write({"id": [9, 9], "v": ["same", "same"]}, branch, mode="append")
    with table.branches.staged("other") as branch:
        lance_sql.write({"id": [9], "v": ["other"]}, branch, mode="append")
    with table.branches.staged("moved") as branch:
        branch.update({"id": "9", "v": "'same'"}, "id = 2")
    SAME["insert"](table)
    for name in ("twice", "other", "moved"):
        assert table.branches.plan(name, key="id").conflicts.num_rows >= 2
        with pytest.raises(CommitConflict):
            table.branches.publish(name, key="id")


@pytest.mark.parametrize("side", ["load", "main"])
def test_a_conflict_is_resolved_on_either_side(table: Dataset, side: str) -> None:
    with table.branches.staged("load") as branch:
        branch.update({"v": "'load'"}, "id = 2")
    table.update({"v": "'main'"}, "id = 2")
    with pytest.raises(CommitConflict, match="give these rows the same values on both, and publish again"):
        table.branches.publish("load")
    loser = lance_sql.open(table.uri, branch="load") if side == "main" else table.latest()
    loser.update({"v": f"'{side}'"}, "id = 2")
    table.branches.publish("load")
    assert rows(table)[1] == (1, 2, side)


@pytest.mark.parametrize("later", ["", "others", "a restore", "an overwrite", "a branch of the same name"])
def test_a_branch_that_was_published_and_removed_is_found(table: Dataset, later: str) -> None:
    with table.branches.staged("load") as branch:
        branch.delete("id = 2")
    made = table.branches.publish("load")
    if later == "others":
        for number in range(6):
            with table.latest().branches.staged(f"b{number}") as branch:
                lance_sql.write({"id": [100 + number], "v": ["x"]}, branch, mode="append")
            table.branches.publish(f"b{number}")
    elif later == "a restore":
        table.latest().restore(1)
        with pytest.raises(VersionNotFound, match="No branch 'load'"):
            table.branches.publish("load")
        return
    elif later == "an overwrite":
        lance_sql.write({"id": [1], "v": ["a"]}, table.uri, mode="overwrite")
    elif later:
        with table.latest().branches.staged("load") as branch:
            branch.delete("id = 3")
        made = table.branches.publish("load")
    before = table.latest().version
    planned = table.branches.plan("load")
    assert planned.published == made.version
    assert str(planned) == f"load version {planned.version} was published already as version {made.version}"
    assert "Published already as version" in planned.to_html()
    assert table.branches.publish("load").version == made.version
    assert table.latest().version == before
    with pytest.raises(VersionNotFound, match="No branch 'lode'"):
        table.branches.publish("lode")


def test_a_second_attempt_finds_the_first(table: Dataset) -> None:
    with table.branches.staged("load") as branch:
        branch.delete("id = 2")
    made = table.branches.publish("load", keep=True)
    again = table.branches.publish("load")
    assert (again.version, again.branches.list()) == (made.version, {})
    with table.branches.staged("load") as branch:
        branch.delete("id = 3")
    assert table.branches.publish("load").version == made.version + 1


def test_a_branch_that_changed_nothing_makes_no_version(table: Dataset) -> None:
    with table.branches.staged("load") as branch:
        branch.maintenance.compact()
        branch.update({"v": "v"}, "true")
    made = table.branches.publish("load")
    assert (made.version, made.branches.list()) == (1, {})


def test_a_block_that_fails_leaves_the_branch(table: Dataset) -> None:
    with pytest.raises(ZeroDivisionError), table.branches.staged("load") as branch:
        branch.delete(f"id = {1 / 0}")
    assert "load" in table.branches.list()
    with pytest.raises(InvalidArgument, match="already"), table.branches.staged("load"):
        pass


def _another_column(dataset: Dataset) -> Dataset:
    return dataset.drop_columns("v").add_columns([pa.field("v", pa.string())])


@pytest.mark.parametrize("who", ["branch", "main"])
def test_a_column_in_the_place_of_another_one_has_to_be_so_on_both(table: Dataset, who: str) -> None:
    with table.branches.staged("load") as branch:
        if who == "branch":
            branch = _another_column(branch)
        branch.update({"id": "id + 10"}, "id = 2")
    if who == "main":
        _another_column(table)
    with pytest.raises(UnsupportedFeature, match="change them on both"):
        table.branches.publish("load")
    other = table.latest() if who == "branch" else lance_sql.open(table.uri, branch="load")
    _another_column(other)
    table.branches.publish("load")
    found = table.latest().scan(["id", "v"]).to_table().sort_by("id").to_pydict()
    assert found == {"id": [1, 3, 4, 12], "v": [None] * 4}


def test_a_column_of_another_type_on_both_is_no_other_column(table: Dataset) -> None:
    with table.branches.staged("load") as branch:
        branch = branch.alter_column("id", type=pa.int32()).alter_column("id", type=pa.int64())
        branch.update({"v": "'z'"}, "id = 2")
    table.branches.publish("load")
    assert rows(table) == [(0, 1, "a"), (1, 2, "z"), (2, 3, "c"), (3, 4, "d")]


def test_unpublishable_branches_are_refused(table: Dataset, tmp_path: Path) -> None:
    with pytest.raises(VersionNotFound, match="No branch 'lod'"):
        table.branches.publish("lod")
    with table.branches.staged("load") as branch:
        branch.add_columns({"w": "id + 1"})
    with pytest.raises(UnsupportedFeature, match="columns"):
        table.branches.publish("load")
    inner = branch.branches.create("inner")
    assert inner.branch == "inner"
    with pytest.raises(InvalidArgument, match="was created from 'load'"):
        table.branches.publish("inner")
    plain = lance_sql.write({"id": [1]}, tmp_path / "plain.lance", stable_row_ids=False)
    with plain.branches.staged("load") as staged:
        staged.delete("id = 1")
    with pytest.raises(InvalidArgument, match="stable row ids"):
        plain.branches.publish("load")


def race(path: str, seed: int) -> None:
    """Both change a table at random; it then has what both did, or what main did."""
    choice = random.Random(seed)
    table = lance_sql.write({"id": list(range(12)), "v": ["0"] * 12}, path, max_rows_per_file=choice.choice([3, 12]))
    with table.branches.staged("load") as branch:
        pass
    models: dict[str | None, dict[int, Any]] = {side: dict.fromkeys(range(12), "0") for side in (None, "load")}
    touched: dict[str | None, set[int]] = {None: set(), "load": set()}
    for number in range(choice.randint(1, 8)):
        side = choice.choice([None, "load"])
        dataset = (table if side is None else branch).latest()
        model = models[side]
        chosen = choice.sample(range(12), choice.randint(1, 3))
        listed = ", ".join(map(str, chosen))
        match choice.randint(0, 4):
            case 0:
                dataset.delete(f"id IN ({listed})")
                touched[side] |= set(chosen) & model.keys()
                for each in chosen:
                    model.pop(each, None)
            case 1 | 2:
                dataset.update({"v": f"'{side}{number}'"}, f"id IN ({listed})")
                touched[side] |= set(chosen) & model.keys()
                model.update({each: f"{side}{number}" for each in chosen if each in model})
            case 3:
                new = 1000 * (side is None) + 100 + number
                lance_sql.write({"id": [new], "v": ["new"]}, dataset, mode="append")
                model[new] = "new"
            case 4:
                if side is None and choice.random() < 0.5:
                    lance.dataset(path).optimize.compact_files(target_rows_per_fragment=100)
                else:
                    dataset.maintenance.compact()
    main = models[None]
    # rows that both deleted are no conflict: no two updates give one value
    conflict = {row for row in touched[None] & touched["load"] if any(row in model for model in models.values())}
    try:
        table.branches.publish("load")
    except CommitConflict:
        assert conflict, seed
        assert "load" in table.branches.list()
    else:
        assert not conflict, seed
        for each in touched["load"]:
            main.pop(each, None)
            if each in models["load"]:
                main[each] = models["load"][each]
        main |= {each: value for each, value in models["load"].items() if each >= 12}
    found = {row[1]: row[2] for row in rows(table)}
    assert found == main, seed
    ids = {row[1]: row[0] for row in rows(table)}
    assert all(ids[each] == each for each in ids if each < 12), seed
    assert lance_sql.audit(path).is_healthy, seed
    theirs = lance.dataset(path).to_table().to_pydict()
    assert dict(zip(theirs["id"], theirs["v"], strict=True)) == main, seed


@pytest.mark.parametrize("piece", range(4))
def test_races_of_branch_and_main(tmp_path: Path, piece: int) -> None:
    for seed in range(8):
        race(str(tmp_path / f"{seed}.lance"), 100 * piece + seed)


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(10))
def test_two_hundred_races(tmp_path: Path, piece: int) -> None:
    for seed in range(20):
        race(str(tmp_path / f"{seed}.lance"), 10_000 + 100 * piece + seed)


@pytest.mark.parametrize("theirs", ["update", "delete"])
def test_the_page_shows_a_conflict_before_and_on_both_sides(table: Dataset, theirs: str) -> None:
    with table.branches.staged("load") as branch:
        branch.update({"v": "'mine'"}, "id = 2")
    table.delete("id = 2") if theirs == "delete" else table.update({"v": "'theirs'"}, "id = 2")
    [shown] = table.branches.plan("load").page_values(is_part=False)["conflicts"]
    assert shown.done == ("updated", f"{theirs}d")
    [cell] = shown.cells
    assert (cell.column, cell.values[:2]) == ("v", (table.to_table()["v"].to_pylist()[1], "mine"))
    assert cell.changed == (True, theirs == "update")
    page = table.branches.plan("load").to_html()
    assert "in load and in main" in page
    assert shown.name == (2,)
    assert '<th scope="col">id</th><th scope="col">Column</th>' in page


def test_the_plan_names_rows_and_rules(table: Dataset) -> None:
    table.rules.set("small", "id < 5").rules.set("short", "v != 'mine'").rules.set("known", "not_null(v)")
    with table.latest().branches.staged("load") as branch:
        branch.update({"v": "'mine'"}, "id = 2")
        lance_sql.write({"id": [70], "v": ["fresh"]}, branch.latest(), mode="append")
        branch.latest().delete("id = 4")
    table.latest().update({"v": "'theirs'"}, "id = 2")
    planned = table.branches.plan("load")
    assert str(planned).endswith(
        "; 1 row was changed on both, such as the one with id=2; 2 rules are broken: short, small"
    )
    shown = planned.page_values(is_part=False)["rows"]
    assert [(row.kind, row.cells["v"].before, row.cells["v"].value) for row in shown] == [
        ("upd", "b", "mine"),
        ("ins", None, "fresh"),
        ("del", None, "d"),
    ]
    assert "fresh" in planned.to_html()


def test_the_page_shows_both_new_rows_with_one_key(table: Dataset) -> None:
    with table.branches.staged("load") as branch:
        lance_sql.write({"id": [5], "v": ["mine"]}, branch, mode="append")
    lance_sql.write({"id": [5], "v": ["theirs"]}, table.uri, mode="append")
    shown = table.branches.plan("load", key="id").page_values(is_part=False)["conflicts"]
    assert {done for row in shown for done in row.done} >= {"inserted"}
    assert {value for row in shown for cell in row.cells for value in cell.values} >= {5, "mine"}
