"""Well-known cases of applied changes, and errors."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import Dataset
from lance_sql.errors import ColumnNotFound, CommitConflict, CorruptFile, InvalidArgument

# the example of Databricks' documentation of APPLY CHANGES / AUTO CDC
USERS: list[dict[str, Any]] = [
    {"userId": 124, "name": "Raul", "city": "Oaxaca", "operation": "INSERT", "sequenceNum": 1},
    {"userId": 123, "name": "Isabel", "city": "Monterrey", "operation": "INSERT", "sequenceNum": 1},
    {"userId": 125, "name": "Mercedes", "city": "Tijuana", "operation": "INSERT", "sequenceNum": 2},
    {"userId": 126, "name": "Lily", "city": "Cancun", "operation": "INSERT", "sequenceNum": 2},
    {"userId": 123, "name": None, "city": None, "operation": "DELETE", "sequenceNum": 6},
    {"userId": 125, "name": "Mercedes", "city": "Guadalajara", "operation": "UPDATE", "sequenceNum": 6},
    {"userId": 125, "name": "Mercedes", "city": "Mexicali", "operation": "UPDATE", "sequenceNum": 5},
    {"userId": 123, "name": "Isabel", "city": "Chihuahua", "operation": "UPDATE", "sequenceNum": 5},
]
OPTIONS: dict[str, Any] = {
    "sequence_by": "sequenceNum",
    "delete_when": "operation = 'DELETE'",
    "except_columns": ["operation", "sequenceNum"],
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "target.lance")


def rows(dataset: Dataset, *names: str) -> list[tuple[Any, ...]]:
    table = dataset.scan(list(names) or None).to_table()
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


def apply(path: str, changes: object, *keys: str, **options: Any) -> Dataset:
    return lance_sql.apply_changes(path, changes, list(keys) or ["id"], **options)


def test_the_example_of_databricks_type_1(path: str) -> None:
    made = apply(path, USERS, "userId", **OPTIONS)
    assert rows(made) == [(124, "Raul", "Oaxaca"), (125, "Mercedes", "Guadalajara"), (126, "Lily", "Cancun")]
    assert apply(path, USERS, "userId", **OPTIONS).version == made.version


HISTORY = [
    (123, "Isabel", "Chihuahua", 5, 6, False),
    (123, "Isabel", "Monterrey", 1, 5, False),
    (124, "Raul", "Oaxaca", 1, None, True),
    (125, "Mercedes", "Guadalajara", 6, None, True),
    (125, "Mercedes", "Mexicali", 5, 6, False),
    (125, "Mercedes", "Tijuana", 2, 5, False),
    (126, "Lily", "Cancun", 2, None, True),
]


def test_the_example_of_databricks_type_2(path: str) -> None:
    made = apply(path, USERS, "userId", scd=2, **OPTIONS)
    assert rows(made) == HISTORY
    assert apply(path, USERS, "userId", scd=2, **OPTIONS).version == made.version


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_example_in_pieces_from_its_end(path: str, size: int) -> None:
    for start in range(len(USERS) - size, -size, -size):
        made = apply(path, USERS[max(start, 0) : start + size], "userId", scd=2, **OPTIONS)
    assert rows(made) == HISTORY


def test_the_example_of_databricks_with_tracked_columns(path: str) -> None:
    """city is not tracked: another one changes the row that there is."""
    options = OPTIONS | {"track_history_except": ["city"], "scd": 2}
    assert rows(apply(path, USERS, "userId", **options)) == [
        (123, "Isabel", "Chihuahua", 1, 6, False),
        (124, "Raul", "Oaxaca", 1, None, True),
        (125, "Mercedes", "Guadalajara", 2, None, True),
        (126, "Lily", "Cancun", 2, None, True),
    ]


def test_a_deletion_that_comes_first_is_remembered(path: str) -> None:
    def change(number: int, op: str) -> list[dict[str, Any]]:
        return [{"id": 1, "v": str(number), "n": number, "op": op}]

    options: dict[str, Any] = {"sequence_by": "n", "delete_when": "op = 'D'", "except_columns": ["op"]}
    apply(path, change(5, "D"), **options)
    assert rows(apply(path, change(4, "U"), **options)) == []
    assert rows(apply(path, change(6, "U"), **options)) == [(1, "6", 6)]
    assert rows(apply(path, change(5, "U"), **options)) == [(1, "6", 6)]


def test_null_is_a_key(path: str) -> None:
    apply(path, [{"id": None, "v": "a", "n": 1}, {"id": 2, "v": "b", "n": 1}], sequence_by="n")
    made = apply(path, [{"id": None, "v": "c", "n": 2}], sequence_by="n")
    assert rows(made, "id", "v") == [(2, "b"), (None, "c")]


def test_null_in_the_sequence_is_refused(path: str) -> None:
    with pytest.raises(InvalidArgument, match=r"sequence_by: the column 'n' is NULL in the change of {'id': 7}"):
        apply(path, [{"id": 1, "n": 1}, {"id": 7, "n": None}], sequence_by="n")
    assert not Path(path).exists()


def test_null_updates_are_ignored_where_asked(path: str) -> None:
    apply(path, [{"id": 1, "a": 1, "b": "x", "n": 1}], sequence_by="n")
    patch = [{"id": 1, "a": None, "b": None, "n": 2}, {"id": 1, "a": 3, "b": None, "n": 3}]
    made = apply(path, patch, sequence_by="n", ignore_null_updates=["b"])
    assert rows(made) == [(1, 3, "x", 3)]
    made = apply(path, [{"id": 1, "a": None, "b": None, "n": 4}], sequence_by="n")
    assert rows(made) == [(1, None, None, 4)]


def test_columns_that_come_and_go(path: str) -> None:
    apply(path, [{"id": 1, "a": 1, "n": 1}, {"id": 2, "a": 2, "n": 1}], sequence_by="n")
    apply(path, [{"id": 1, "a": 5, "b": "new", "n": 2}], sequence_by="n")
    made = apply(path, [{"id": 1, "b": "newer", "n": 3}, {"id": 3, "b": "c", "n": 1}], sequence_by="n")
    assert rows(made, "id", "a", "b") == [(1, 5, "newer"), (2, 2, None), (3, None, "c")]


def test_rows_without_an_order_replace_one_another(path: str) -> None:
    apply(path, [{"id": 1, "v": "a"}, {"id": 1, "v": "b"}])
    assert rows(apply(path, [{"id": 1, "v": "c"}, {"id": 2, "v": "d"}])) == [(1, "c"), (2, "d")]


def test_several_columns_order_changes(path: str) -> None:
    def at(day: int) -> datetime:
        return datetime(2026, 1, day, tzinfo=UTC)

    changes = [{"id": 1, "v": "a", "day": at(2), "n": 1}, {"id": 1, "v": "b", "day": at(1), "n": 9}]
    made = apply(path, changes, sequence_by=["day", "n"], except_columns=["day", "n"], scd=2)
    assert [row[1:3] for row in rows(made)] == [
        ("a", {"day": at(2), "n": 1}),
        ("b", {"day": at(1), "n": 9}),
    ]


def test_equal_rows_are_not_written_again(path: str) -> None:
    before = apply(path, [{"id": i, "v": "x"} for i in range(100)])
    made = apply(path, [{"id": i, "v": "x" if i else "y"} for i in range(100)])
    assert made.last_change is not None
    assert (made.last_change.rows_updated, made.version) == (1, before.version + 1)
    assert made.scan(filter=f"_row_last_updated_at_version = {made.version}").count_rows() == 1


@pytest.mark.parametrize("mode", ["all", "net"])
@pytest.mark.parametrize("scd", [1, 2])
def test_a_feed_brings_its_own_kinds_and_order(tmp_path: Path, path: str, mode: Any, scd: Any) -> None:
    source = lance_sql.write({"id": [1, 2, 3], "v": ["a", "b", "c"]}, tmp_path / "s.lance")
    source.update({"v": "'z'"}, "id = 1")
    # another key, and one that takes its place
    source.update({"id": "9"}, "id = 2")
    source.update({"id": "2"}, "id = 3")
    now = lance_sql.write({"id": [4], "v": ["d"]}, source.uri, mode="append").delete("id = 1")
    made = apply(path, now.changes(mode=mode), scd=scd)
    current = made.scan(["id", "v"], "is_current" if scd == 2 else None).to_table()
    assert sorted(map(repr, current.to_pylist())) == sorted(map(repr, now.scan().to_table().to_pylist()))
    assert apply(path, now.changes(mode=mode), scd=scd).version == made.version


def test_the_history_of_a_feed_has_versions_and_times_of_commits(tmp_path: Path, path: str) -> None:
    source = lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, tmp_path / "s.lance")
    now = source.update({"v": "'z'"}, "id = 1").delete("id = 2")
    made = apply(path, now.changes(), scd=2)
    rows_of_source = now.row_history().scan(made.schema.names).to_table()
    assert made.schema.types == rows_of_source.schema.types
    assert rows(made) == sorted(zip(*(column.to_pylist() for column in rows_of_source.columns), strict=True), key=repr)
    for version in (3, 1, 2):
        again = apply(path + "2", now.changes(version, version), scd=2)
    assert rows(again) == rows(made)
    # a feed that an engine has read is a feed
    assert apply(path, now.changes().scan().to_table(), scd=2).version == made.version


def test_a_history_with_other_columns_keeps_them(tmp_path: Path, path: str) -> None:
    source = lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, tmp_path / "s.lance")
    versions = source.changes().scan(["id", "v", "_change_type", "_commit_version"]).to_table()
    made = apply(path, versions, scd=2)
    assert rows(made, "id", "valid_from", "valid_to") == [(1, 1, None), (2, 1, None)]
    now = source.update({"v": "'z'"}, "id = 1")
    made = apply(path, now.changes(), scd=2)
    assert rows(made, "id", "valid_from", "valid_to") == [(1, 1, 2), (1, 2, None), (2, 1, None)]
    times = apply(path + "2", now.changes(), sequence_by="_commit_timestamp", scd=2)
    assert times.schema.names == ["id", "v", "valid_from", "valid_to", "is_current"]
    several = apply(path + "3", now.changes(), sequence_by=["_commit_version", "_commit_timestamp"], scd=2)
    assert pa.types.is_struct(several.schema.field("valid_from").type)


@pytest.mark.parametrize(
    "sequence", ["_commit_version", "_commit_timestamp", ["_commit_version", "_commit_timestamp"], None]
)
def test_a_history_with_times_of_commits_refuses_another_order(tmp_path: Path, path: str, sequence: Any) -> None:
    source = lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, tmp_path / "s.lance")
    made = apply(path, source.changes(), scd=2)
    now = source.update({"v": "'z'"}, "id = 1")
    changes: Any = now.changes()
    if sequence is None:
        changes = changes.scan(["id", "v", "_change_type", "_commit_version"]).to_table()
    with pytest.raises(InvalidArgument, match="earlier changes were applied with sequence_by=None, not"):
        apply(path, changes, sequence_by=sequence, scd=2)
    if isinstance(sequence, list):
        given = apply(path + "2", changes, sequence_by=sequence, scd=2)
        with pytest.raises(
            InvalidArgument, match=r"applied with sequence_by=\['_commit_version', '_commit_timestamp'\]"
        ):
            apply(path + "2", [{"id": 1, "v": "w", "at": 5}], sequence_by="at", scd=2)
        assert given.version == given.latest().version
    assert rows(made.latest()) == rows(made)


def test_rows_of_a_history_are_extended_by_a_feed(tmp_path: Path, path: str) -> None:
    source = lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, tmp_path / "s.lance").update({"v": "'z'"}, "id = 1")
    history = source.row_history()
    lance_sql.write(history.scan(history.schema.names[:-1]), path)
    now = source.delete("id = 2")
    made = apply(path, now.changes(since=2), scd=2)
    assert rows(made) == rows(apply(path + "2", now.changes(), scd=2))


def test_parts_of_a_feed_in_any_order(tmp_path: Path, path: str) -> None:
    source = lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, tmp_path / "s.lance")
    source.update({"v": "'z'"}, "id = 1")
    now = source.delete("id = 2")
    for version in (3, 1, 2):
        made = apply(path, now.changes(version, version))
    assert rows(made) == [(1, "z")]


def test_a_cursor_and_its_copy(tmp_path: Path, path: str) -> None:
    source = lance_sql.write({"id": [1, 2], "v": ["a", "b"]}, tmp_path / "s.lance")
    cursor = source.cursors.open("copy")
    with cursor.read(target=path) as changes:
        apply(path, changes)
    source.update({"v": "'z'"}, "id = 1")
    source.delete("id = 2")

    def run_that_dies() -> None:
        with cursor.read(target=path) as changes:
            apply(path, changes)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_that_dies()
    with cursor.read(target=path) as changes:
        assert changes.count_rows() == 0
        version = apply(path, changes).version
    made = lance_sql.open(path)
    assert (rows(made), made.version, cursor.position) == ([(1, "z")], version, 3)
    # nothing has to be remembered of changes that come in order
    assert not Path(path, "_applied").exists()


def test_two_at_once_lose_nothing(path: str) -> None:
    apply(path, [{"id": 0, "v": 0, "n": 0, "op": "U"}], sequence_by="n", delete_when="op = 'D'")
    failures: list[Exception] = []

    def run(part: int) -> None:
        for number in range(1, 9):
            changes = [
                {"id": key, "v": number, "n": number, "op": "D" if (key + number) % 3 == 0 else "U"}
                for key in range(4)
                if (number + key) % 2 == part
            ]
            while True:
                try:
                    apply(path, changes, sequence_by="n", delete_when="op = 'D'", except_columns=["op", "n"][:1])
                    break
                except CommitConflict:
                    continue
                except Exception as error:
                    failures.append(error)
                    return

    threads = [threading.Thread(target=run, args=(part,)) for part in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    expected = [(key, 8, 8) for key in range(4) if (key + 8) % 3]
    assert rows(lance_sql.open(path), "id", "v", "n") == expected


def test_a_restore_takes_the_memory_back_as_well(path: str) -> None:
    def change(number: int, op: str = "U") -> list[dict[str, Any]]:
        return [{"id": 1, "v": number, "n": number, "op": op}]

    options: dict[str, Any] = {"sequence_by": "n", "delete_when": "op = 'D'", "except_columns": ["op", "n"]}
    first = apply(path, change(1), **options)
    apply(path, change(9, "D"), **options)
    lance_sql.open(path).restore(first.version)
    assert rows(apply(path, change(5), **options)) == [(1, 5)]


def test_a_branch_has_the_memory_of_main(path: str) -> None:
    options: dict[str, Any] = {"sequence_by": "n", "except_columns": ["n"]}
    main = apply(path, [{"id": 1, "v": 5, "n": 5}], **options)
    branch = main.branches.create("dev")
    assert rows(lance_sql.apply_changes(branch, [{"id": 1, "v": 4, "n": 4}], "id", **options)) == [(1, 5)]
    made = lance_sql.apply_changes(branch, [{"id": 1, "v": 6, "n": 6}], "id", **options)
    assert (rows(made), made.branch, rows(main.latest())) == ([(1, 6)], "dev", [(1, 5)])
    clone = main.branches.shallow_clone(path.replace("target", "clone"))
    assert rows(lance_sql.apply_changes(clone, [{"id": 1, "v": 4, "n": 4}], "id", **options)) == [(1, 5)]


def test_a_cleanup_removes_memory_of_old_versions_alone(path: str) -> None:
    options: dict[str, Any] = {"sequence_by": "n", "except_columns": ["n"]}
    for number in range(1, 20):
        made = apply(path, [{"id": number % 3, "v": number, "n": number}], **options)
    before = set(Path(path, "_applied").iterdir())
    assert len(before) == 19
    made.maintenance.cleanup(retain_versions=1)
    assert 0 < len(set(Path(path, "_applied").iterdir())) < 9
    assert rows(apply(path, [{"id": 0, "v": 0, "n": 0}], **options)) == [(0, 18), (1, 19), (2, 17)]


def test_pylance_reads_it_and_goes_on(path: str) -> None:
    apply(path, USERS, "userId", scd=2, **OPTIONS)
    theirs = lance.dataset(path)
    assert theirs.count_rows() == 7
    theirs.update({"name": "'Ralf'"}, where="userId = 124")
    late = [{"userId": 124, "name": "R", "city": "C", "operation": "UPDATE", "sequenceNum": 9}]
    made = apply(path, late, "userId", scd=2, **OPTIONS)
    assert rows(made, "name", "valid_from", "valid_to")[-2:] == [("R", 9, None), ("Ralf", 1, 9)]
    assert lance.dataset(path).count_rows() == 8


def test_changed_settings_of_applied_changes_are_refused(path: str) -> None:
    apply(path, [{"id": 1, "k": 1, "n": 1}], sequence_by="n")
    for options, message in (
        ({"keys": ["k"], "sequence_by": "n"}, r"keys=\['id'\], not \['k'\]"),
        ({"keys": ["id"]}, r"sequence_by=\['n'\], not"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            lance_sql.apply_changes(path, [{"id": 1, "k": 1, "n": 2}], **options)
    with pytest.raises((InvalidArgument, ColumnNotFound)):
        apply(path, [{"id": 1, "k": 1, "n": 2}], sequence_by="n", scd=2)


def test_a_target_with_a_key_twice_is_refused(path: str) -> None:
    lance_sql.write({"id": [1, 1]}, path)
    with pytest.raises(InvalidArgument, match=r"several rows with the key {'id': 1}"):
        apply(path, [{"id": 1}])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"keys": []}, InvalidArgument),
        ({"keys": ["x"]}, ColumnNotFound),
        ({"keys": ["id", "id"]}, InvalidArgument),
        ({"keys": ["id"], "columns": ["v"]}, InvalidArgument),
        ({"keys": ["id"], "columns": ["id"], "except_columns": ["v"]}, InvalidArgument),
        ({"keys": ["id"], "except_columns": ["w"]}, ColumnNotFound),
        ({"keys": ["id"], "sequence_by": "w"}, ColumnNotFound),
        ({"keys": ["id"], "scd": 3}, InvalidArgument),
        ({"keys": ["id"], "scd": 2}, InvalidArgument),
        ({"keys": ["id"], "track_history_on": ["v"]}, InvalidArgument),
        ({"keys": ["id"], "sequence_by": "v", "scd": 2, "track_history_on": ["id"]}, InvalidArgument),
        ({"keys": ["id"], "ignore_null_updates": ["id"]}, InvalidArgument),
        ({"keys": ["id"], "delete_when": "nothing = 1"}, ColumnNotFound),
    ],
)
def test_invalid_arguments_are_refused_before_writing(
    path: str, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        lance_sql.apply_changes(path, [{"id": 1, "v": 1}], **options)
    assert not Path(path).exists()


def test_columns_that_a_history_has_are_refused(path: str) -> None:
    with pytest.raises(InvalidArgument, match="valid_from"):
        apply(path, [{"id": 1, "n": 1, "valid_from": 3}], sequence_by="n", scd=2)


@pytest.mark.parametrize("content", [b"", b"ARROW1\0\0garbage", b"x" * 1000])
def test_damaged_state_is_reported(path: str, content: bytes) -> None:
    options: dict[str, Any] = {"sequence_by": "n", "except_columns": ["n"]}
    apply(path, [{"id": 1, "v": 1, "n": 1}], **options)
    (file,) = Path(path, "_applied").iterdir()
    file.write_bytes(content)
    with pytest.raises(CorruptFile, match="_applied/"):
        apply(path, [{"id": 1, "v": 2, "n": 2}], **options)
    file.unlink()
    with pytest.raises(CorruptFile, match="is missing"):
        apply(path, [{"id": 1, "v": 2, "n": 2}], **options)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"keys":[],"sequence":[],"scd":1}', '{"keys":["id"],"sequence":[],"scd":7}']
)
def test_empty_configs_are_reported(path: str, text: str) -> None:
    lance_sql.write({"id": [1]}, path).config.update({"lance_sql.applied": text})
    with pytest.raises(CorruptFile, match=r"lance_sql\.applied of its config"):
        apply(path, [{"id": 1}])


def test_frames_of_any_kind(path: str) -> None:
    import duckdb
    import polars

    apply(path, pa.table({"id": [1], "v": ["arrow"]}))
    apply(path, polars.DataFrame({"id": [2], "v": ["polars"]}))
    apply(path, duckdb.sql("SELECT 3::BIGINT AS id, 'duckdb' AS v"))
    assert rows(lance_sql.open(path)) == [(1, "arrow"), (2, "polars"), (3, "duckdb")]


def test_late_changes_do_not_revive_deleted_keys(tmp_path: Path) -> None:
    """State files are merged after some commits, whatever their keys."""
    options: dict[str, Any] = {"sequence_by": "at", "delete_when": "gone", "except_columns": ["gone"]}
    target = tmp_path / "t.lance"
    made = lance_sql.apply_changes(
        target, [{"id": 0, "at": 10, "gone": True}, {"id": 99, "at": 1, "gone": False}], "id", **options
    )
    for key in range(1, 12):
        late = {"id": 0, "at": 5, "gone": False}
        made = lance_sql.apply_changes(made, [late, {"id": key, "at": 10, "gone": True}], "id", **options)
        assert made.scan(["id"]).to_table().column("id").to_pylist() == [99]
    made = lance_sql.apply_changes(
        made, [{"id": 0, "at": 9, "gone": False}, {"id": 0, "at": 11, "gone": False}], "id", **options
    )
    assert made.count_rows("id = 0 AND at = 11") == 1


@pytest.mark.parametrize("moment", [{}, {"at": [None, None]}])
def test_rows_that_were_there_without_a_moment_are_older_than_every_change(
    tmp_path: Path, moment: dict[str, list[None]]
) -> None:
    rows = pa.table({"id": [5, 6], "name": ["a", "b"], **{name: pa.array(x, pa.int64()) for name, x in moment.items()}})
    table = lance_sql.write(rows, tmp_path / "t.lance")
    made = lance_sql.apply_changes(table, [{"id": 5, "name": "new", "at": -7}], "id", sequence_by="at")
    late = lance_sql.apply_changes(made, [{"id": 5, "name": "late", "at": -8}], "id", sequence_by="at")
    assert late.version == made.version
    assert made.scan(["id", "name", "at"]).to_table().sort_by("id").to_pylist() == [
        {"id": 5, "name": "new", "at": -7},
        {"id": 6, "name": "b", "at": None},
    ]


def test_a_history_of_rows_that_were_there_before_begins_with_them(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [5, 6], "name": ["a", "b"]}, tmp_path / "t.lance")
    changes = [{"id": 5, "name": "new", "at": 7}]
    made = lance_sql.apply_changes(table, changes, "id", sequence_by="at", except_columns=["at"], scd=2)
    names = ["name", "valid_from", "valid_to", "is_current"]
    found = made.scan(names, "id = 5").to_table().to_pylist()
    assert [tuple(row.values()) for row in found] == [("a", None, 7, False), ("new", 7, None, True)]
