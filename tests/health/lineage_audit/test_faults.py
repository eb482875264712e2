"""Every kind of fault is found where it was planted, and only there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli.main import main
from lance_sql.format.proto import table_pb2
from lance_sql.health.lineage_audit.faults import Kind
from lance_sql.table import row_ids, row_versions, versions
from tests.histories.writers import Ours, Pylance, Writer
from tests.writes.commit.test_early_releases import edit_manifest

CREATE, APPEND, UPDATE, DELETE, MERGE, COMPACT, ADD, DROP, RESTORE, AGAIN, OVERWRITE = (
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    9,
    10,
    11,
    12,
)

Edit = Callable[[table_pb2.Manifest], object]


def rows(keys: list[int], value: str = "v") -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int64()), "v": [f"{value}{key}" for key in keys]})


def write_history(writer: Writer, path: str) -> None:
    """The versions that are named above."""
    writer.create(path, rows(list(range(12))), "2.2")
    writer.append(path, rows([12, 13, 14, 15]))
    writer.update(path, {"v": "'changed'"}, "k IN (1, 5, 13)")
    writer.delete(path, "k = 2")
    writer.merge(path, rows([4, 14, 20, 21], "merged"))
    writer.compact(path, 1000)
    writer.add_values(path, "double", "k * 2")
    writer.drop(path, "double")
    writer.restore(path, MERGE)
    writer.append(path, rows([30, 31]))
    writer.overwrite(path, rows([40, 41, 42]))


@pytest.fixture(scope="module", params=[Ours(), Pylance()], ids=["ours", "pylance"])
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("audit") / "t.lance"
    write_history(request.param, str(path))
    assert lance_sql.open(path).version == OVERWRITE
    return path


def ids_of(fragment: table_pb2.DataFragment) -> list[int]:
    found: list[int] = row_ids.parse(fragment.inline_row_ids, fragment.physical_rows).expand().tolist()
    return found


def set_ids(fragment: table_pb2.DataFragment, ids: list[int]) -> None:
    fragment.inline_row_ids = row_ids.serialize(np.array(ids, np.uint64))


def versions_of(data: bytes, fragment: table_pb2.DataFragment) -> list[int]:
    found: list[int] = row_versions.parse(data, fragment.physical_rows).expand().tolist()
    return found


def serialized(values: list[int]) -> bytes:
    return row_versions.serialize(row_versions.from_values(np.array(values, np.uint64)))


def set_created(fragment: table_pb2.DataFragment, change: Callable[[list[int]], list[int]]) -> None:
    fragment.inline_created_at_versions = serialized(change(versions_of(fragment.inline_created_at_versions, fragment)))


def set_updated(fragment: table_pb2.DataFragment, change: Callable[[list[int]], list[int]]) -> None:
    content = serialized(change(versions_of(fragment.inline_last_updated_at_versions, fragment)))
    fragment.inline_last_updated_at_versions = content


def last(edit: Callable[[table_pb2.DataFragment], object]) -> Edit:
    return lambda message: edit(message.fragments[-1])


def first(edit: Callable[[table_pb2.DataFragment], object]) -> Edit:
    return lambda message: edit(message.fragments[0])


def every(edit: Callable[[table_pb2.DataFragment], object]) -> Edit:
    return lambda message: [edit(fragment) for fragment in message.fragments]


def swapped(values: list[int]) -> list[int]:
    return [values[1], values[0], *values[2:]]


def one_more(values: list[int]) -> list[int]:
    return [values[0] + 1, *values[1:]]


def lose_lineage(message: table_pb2.Manifest) -> None:
    message.reader_feature_flags &= ~2
    message.writer_feature_flags &= ~2


FAULTS: dict[str, tuple[int, Edit, set[Kind]]] = {
    "no row ids": (APPEND, last(lambda f: f.ClearField("inline_row_ids")), {Kind.UNREADABLE}),
    "too few row ids": (APPEND, last(lambda f: set_ids(f, [12, 13])), {Kind.UNREADABLE}),
    "row ids that are no message": (
        APPEND,
        last(lambda f: setattr(f, "inline_row_ids", b"\xff\xff")),
        {Kind.UNREADABLE},
    ),
    "too few versions": (
        APPEND,
        last(lambda f: setattr(f, "inline_created_at_versions", serialized([APPEND] * 3))),
        {Kind.WRONG_LENGTH},
    ),
    "too many versions": (
        APPEND,
        last(lambda f: setattr(f, "inline_last_updated_at_versions", serialized([APPEND] * 9))),
        {Kind.WRONG_LENGTH},
    ),
    "no versions": (
        APPEND,
        last(lambda f: (f.ClearField("inline_created_at_versions"), f.ClearField("inline_last_updated_at_versions"))),
        {Kind.CREATED_AT, Kind.LAST_UPDATED_AT},
    ),
    "inserted rows of a merge created by version 1, as early writers had it": (
        MERGE,
        last(lambda f: set_created(f, lambda v: [1] * len(v))),
        {Kind.CREATED_AT},
    ),
    "updated rows created by another version": (UPDATE, last(lambda f: set_created(f, one_more)), {Kind.CREATED_AT}),
    "updated rows without their version": (
        UPDATE,
        last(lambda f: set_updated(f, lambda v: [1] * len(v))),
        {Kind.LAST_UPDATED_AT},
    ),
    "created in the future": (APPEND, last(lambda f: set_created(f, lambda v: [99] * len(v))), {Kind.CREATED_AT}),
    "updated in the future": (DELETE, first(lambda f: set_updated(f, lambda v: [99] * len(v))), {Kind.LAST_UPDATED_AT}),
    "the id of a live row given again": (
        APPEND,
        last(lambda f: set_ids(f, [0, 13, 14, 15])),
        {Kind.REUSED_ID, Kind.REPEATED_ID},
    ),
    "the id of a deleted row given again": (
        MERGE,
        last(lambda f: set_ids(f, [*ids_of(f)[:-1], 2])),
        {Kind.REUSED_ID},
    ),
    "the next id lowered": (DELETE, lambda m: setattr(m, "next_row_id", 3), {Kind.UNRESERVED_ID}),
    "the next id not advanced": (APPEND, lambda m: setattr(m, "next_row_id", 12), {Kind.UNRESERVED_ID}),
    "a compaction that gives a new id": (
        COMPACT,
        last(lambda f: set_ids(f, [16, *ids_of(f)[1:]])),
        {Kind.LOST_ID, Kind.REPEATED_ID, Kind.OTHER_ID, Kind.CREATED_AT, Kind.LAST_UPDATED_AT},
    ),
    "a compaction that swaps ids": (COMPACT, last(lambda f: set_ids(f, swapped(ids_of(f)))), {Kind.OTHER_ID}),
    "an update that swaps ids": (UPDATE, last(lambda f: set_ids(f, swapped(ids_of(f)))), {Kind.OTHER_ID}),
    "a compaction that changes created-at": (COMPACT, last(lambda f: set_created(f, one_more)), {Kind.CREATED_AT}),
    "a compaction that counts as an update": (
        COMPACT,
        last(lambda f: set_updated(f, lambda v: [COMPACT] * len(v))),
        {Kind.LAST_UPDATED_AT},
    ),
    "a new column without versions, as early writers had it": (
        ADD,
        last(lambda f: set_updated(f, lambda v: [MERGE] * len(v))),
        {Kind.LAST_UPDATED_AT},
    ),
    "a dropped column that changes ids": (
        DROP,
        last(lambda f: set_ids(f, swapped(ids_of(f)))),
        {Kind.OTHER_ID},
    ),
    "a dropped column that loses rows": (DROP, lambda m: m.fragments.pop(), {Kind.LOST_ID}),
    "a deletion that updates the rows that stay": (
        DELETE,
        first(lambda f: set_updated(f, lambda v: [DELETE] * len(v))),
        {Kind.LAST_UPDATED_AT},
    ),
    "a restore with later versions": (
        RESTORE,
        first(lambda f: set_updated(f, lambda v: [RESTORE] * len(v))),
        {Kind.LAST_UPDATED_AT},
    ),
    "a restore that lowers the next id": (
        RESTORE,
        lambda m: setattr(m, "next_row_id", 17),
        {Kind.UNRESERVED_ID},
    ),
    "an overwrite that counts ids anew": (OVERWRITE, last(lambda f: set_ids(f, [0, 1, 2])), {Kind.REUSED_ID}),
    "no lineage any longer": (DELETE, lose_lineage, {Kind.LOST_LINEAGE}),
}


def planted(history: Path, target: Path, version: int, edit: Edit) -> Path:
    """A copy whose newest version has been edited."""
    shutil.copytree(history, target)
    for file in versions.list_versions(lance_sql.open(target).snapshot.store):
        if file.version > version:
            (target / file.path).unlink()
        elif file.version == version:
            edit_manifest(target / file.path, edit)
    return target


def test_there_is_no_fault_without_one(history: Path) -> None:
    report = lance_sql.audit(history)
    assert report.is_healthy, str(report)
    assert report.versions == tuple(range(1, OVERWRITE + 1))
    assert not report.partly
    assert str(report).endswith("lineage of versions 1-12 audited; no fault found")


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(history: Path, tmp_path: Path, name: str) -> None:
    version, edit, kinds = FAULTS[name]
    report = lance_sql.audit(planted(history, tmp_path / "t.lance", version, edit))
    assert {fault.version for fault in report.faults} == {version}, str(report)
    assert {fault.kind for fault in report.faults} == kinds, str(report)
    assert lance_sql.audit(tmp_path / "t.lance", version=version).faults == report.faults


def test_rows_that_are_still_wrong_are_counted(history: Path, tmp_path: Path) -> None:
    table = planted(history, tmp_path / "t.lance", MERGE, last(lambda f: set_created(f, lambda v: [*v[:-2], 1, 1])))
    lance_sql.open(table).delete("k = 20")
    lance_sql.open(table).maintenance.compact()
    report = lance_sql.audit(table)
    (fault,) = report.faults
    assert (fault.version, fault.operation, fault.kind) == (MERGE, "update", Kind.CREATED_AT)
    assert fault.message == "created-at of 2 rows is 1 instead of 5 (row 16 and others)"
    assert (fault.num_rows, fault.newest) == (2, (8, 1))
    assert "_row_created_at_version" in report.affected_queries
    assert "in version 8: 1 of these rows" in str(report)


def test_a_page_shows_faults_with_their_commits(tmp_path: Path) -> None:
    with lance_sql.job("nightly <load>"):
        write_history(Ours(), str(tmp_path / "h.lance"))
    wrong = last(lambda fragment: set_created(fragment, lambda versions: [*versions[:-2], 1, 1]))
    table = planted(tmp_path / "h.lance", tmp_path / "t.lance", MERGE, wrong)
    made = lance_sql.open(table)
    page = lance_sql.audit(table, job="nightly <load>").to_html()
    (commit,) = [entry for entry in made.history() if entry.version == MERGE]
    committed = f">{commit.timestamp:%Y-%m-%d %H:%M:%S}"
    for text in ("Audit of t.lance", "only commits of job nightly &lt;load&gt;", "created-at of 2 rows", committed):
        assert text in page
    assert page.count("nightly &lt;load&gt;") == 1 + 1 + MERGE  # the note, the fault and the commits
    checked = lance_sql.verify(table, lineage=True).to_html()
    assert ("Verification of t.lance" in checked, "created-at of 2 rows" in checked) == (True, True)
    assert "Nothing to audit: no commit of job other" in lance_sql.audit(table, job="other").to_html()
    assert "Audit of t.lance" in (lance_sql.audit(table)._repr_html_() or "")


def test_missing_transactions_are_reported(history: Path, tmp_path: Path) -> None:
    def forget(message: table_pb2.Manifest) -> None:
        message.transaction_file = ""
        message.ClearField("transaction_section")

    report = lance_sql.audit(planted(history, tmp_path / "a.lance", UPDATE, forget))
    assert report.is_healthy
    assert report.partly == {UPDATE: "which is not recorded"}

    def also_wrong(message: table_pb2.Manifest) -> None:
        forget(message)
        set_created(message.fragments[-1], one_more)

    (fault,) = lance_sql.audit(planted(history, tmp_path / "b.lance", UPDATE, also_wrong)).faults
    assert (fault.kind, fault.operation) == (Kind.CREATED_AT, None)


def test_a_version_behind_a_cleanup_is_checked_alone(history: Path, tmp_path: Path) -> None:
    table = planted(history, tmp_path / "t.lance", DELETE, first(lambda f: set_created(f, lambda v: [99] * len(v))))
    for file in versions.list_versions(lance_sql.open(table).snapshot.store)[:-1]:
        (table / file.path).unlink()
    report = lance_sql.audit(table)
    assert report.partly == {DELETE: "for the version before is gone"}
    assert {fault.kind for fault in report.faults} == {Kind.CREATED_AT}


def test_a_table_without_stable_row_ids_has_nothing_to_audit(tmp_path: Path) -> None:
    lance_sql.write(rows([1]), tmp_path / "t.lance", stable_row_ids=False)
    report = lance_sql.audit(tmp_path / "t.lance")
    assert report.is_healthy
    assert report.without_lineage == (1,)
    assert "no lineage to audit" in str(report)


def test_the_command_has_exit_codes_and_json(history: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert run(main, ["audit", str(history)]).exit_code == 0
    assert run(main, ["audit", f"{history}@3"]).stdout.endswith("version 3 audited; no fault found\n")
    assert run(main, ["audit", str(tmp_path / "none.lance")]).exit_code == 3
    table = planted(history, tmp_path / "t.lance", APPEND, last(lambda f: set_created(f, one_more)))
    result = run(main, ["audit", str(table), "-o", "json"])
    assert result.exit_code == 1
    (fault,) = json.loads(result.stdout)["faults"]
    assert (fault["kind"], fault["row_ids"], fault["rows_in_newest_version"]) == ("created_at", [12], 1)
    assert "in version 2: 1 of these rows" in run(main, ["audit", str(table)]).stdout
    result = run(main, ["audit", str(table), "--html", str(tmp_path / "audit.html")])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "created-at" in (tmp_path / "audit.html").read_text()
