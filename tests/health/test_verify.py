"""Damage is found where it is, and nothing is found on healthy tables."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli.main import main
from lance_sql.health.verification import Problem
from tests.conftest import Case, corpus_params
from tests.health.lineage_audit.test_faults import planted
from tests.writes.commit.test_early_releases import edit_manifest, newest_manifest

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 versions, 50 and more files: data files, deletion files of both kinds, manifests, transactions."""
    path = tmp_path_factory.mktemp("verify") / "t.lance"
    for version in range(15):
        rows = pa.table({"id": range(version * 100, version * 100 + 100), "s": [f"text {n}" for n in range(100)]})
        lance.write_dataset(
            rows, path, mode="append" if version else "create", max_rows_per_file=40, enable_stable_row_ids=True
        )
    dataset = lance.dataset(path)
    for key in (3, 57, 120):
        dataset.delete(f"id = {key}")
    dataset.update({"s": "'changed'"}, where="id IN (5, 250, 777)")
    lance.write_dataset(pa.table({"id": [9000], "s": ["last"]}), path, mode="append")
    assert lance.dataset(path).version == 20
    return path


def _truncate(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: random.Random(path.name).randrange(1, len(content))])


DAMAGES: dict[str, Damage] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "truncated": _truncate,
}


def test_a_healthy_table_has_no_problems(healthy: Path) -> None:
    for deep in (False, True):
        report = lance_sql.verify(healthy, deep=deep)
        assert "no damage found" in str(report)
        assert report.newest_is_healthy
        assert report.versions == tuple(range(1, 21))
        assert report.newest_healthy_version == 20


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_file_that_is_missing_empty_or_cut_is_found(healthy: Path, tmp_path: Path, damage: str) -> None:
    table = tmp_path / "t.lance"
    shutil.copytree(healthy, table)
    files = [path for folder in ("data", "_deletions") for path in sorted((table / folder).iterdir())]
    assert len(files) >= 48
    # each file in one of the ways
    for file in files[list(DAMAGES).index(damage) :: len(DAMAGES)]:
        found = _problems_after(file, DAMAGES[damage], table)
        assert file.relative_to(table).as_posix() in {problem.file for problem in found}


@pytest.mark.parametrize("damage", ["empty", "truncated"])
def test_every_damaged_manifest_is_found(healthy: Path, tmp_path: Path, damage: str) -> None:
    table = tmp_path / "t.lance"
    shutil.copytree(healthy, table)
    for file in sorted((table / "_versions").glob("*.manifest")):
        (problem,) = _problems_after(file, DAMAGES[damage], table)
        assert problem.file == f"_versions/{file.name}"


def _problems_after(file: Path, damage: Damage, table: Path) -> tuple[Problem, ...]:
    content = file.read_bytes()
    damage(file)
    try:
        return lance_sql.verify(table).problems
    finally:
        file.write_bytes(content)


def test_the_report_lists_readable_columns(healthy: Path, tmp_path: Path) -> None:
    table = tmp_path / "t.lance"
    shutil.copytree(healthy, table)
    newest = lance_sql.open(table).snapshot.manifest.fragments[-1].files[0].path
    (table / "data" / newest).unlink()
    report = lance_sql.verify(table)
    (problem,) = report.problems
    assert problem.versions == (20,)
    assert report.newest_healthy_version == 19
    assert str(report).splitlines()[1:] == [
        f"  data/{newest}: the file is missing (version 20)",
        "  newest healthy version: 19",
        "  pages were not decoded, and no checksums compared: --deep does both",
    ]


def test_a_damaged_page_leaves_the_other_columns_readable(tmp_path: Path) -> None:
    table = tmp_path / "t.lance"
    lance.write_dataset(pa.table({"a": range(5000), "b": [str(n) for n in range(5000)]}), table)
    (file,) = (table / "data").iterdir()
    content = bytearray(file.read_bytes())
    # the first buffers of the file are those of column a
    content[0:64] = b"\xff" * 64
    file.write_bytes(content)
    assert lance_sql.verify(table).is_healthy
    report = lance_sql.verify(table, deep=True)
    assert {problem.column for problem in report.problems} == {"a"}
    assert report.readable_columns == {1: ("b",)}


@pytest.mark.parametrize("kind", ["BTREE", "BITMAP", "ZONEMAP", "BLOOMFILTER"])
def test_indices_of_nested_columns_are_no_damage(kind: Any, tmp_path: Path) -> None:
    nested = {
        "struct": pa.array([{"a": 1, "b": "x"}, None]),
        "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        "list": pa.array([[1], None]),
        "vector": pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
    }
    for name, values in nested.items():
        path = tmp_path / name
        lance.write_dataset(pa.table({"id": [1, 2], "x": values}), path)
        try:
            lance.dataset(path).create_scalar_index("x", kind)
        except (OSError, TypeError, ValueError):
            # pylance builds zone maps of structs, and others of fewer types
            assert (kind, name) != ("ZONEMAP", "struct")
            continue
        report = lance_sql.verify(path, deep=True)
        assert report.is_healthy, str(report)
        assert lance_sql.open(path).count_rows("x IS NULL") == 1


@pytest.mark.parametrize("kind", ["NGRAM", "BITMAP"])
def test_a_damaged_set_of_rows_of_an_index_is_found(kind: Any, tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"s": [f"city {i % 9:03d} x" for i in range(500)]}), tmp_path / "t")
    lance.dataset(tmp_path / "t").create_scalar_index("s", kind)
    (file,) = (tmp_path / "t" / "_indices").glob("*/*.lance")
    content = bytearray(file.read_bytes())
    # the number with which a bitmap of Roaring begins
    place = content.index(b"\x3a\x30\x00\x00")
    content[place : place + 4] = b"\xff" * 4
    file.write_bytes(content)
    assert not lance_sql.verify(tmp_path / "t").problems
    (problem,) = lance_sql.verify(tmp_path / "t", deep=True).problems
    assert file.name in str(problem)


def test_row_ids_of_two_rows_are_found(healthy: Path, tmp_path: Path) -> None:
    """The counts and ids of each version agree; a manifest made up of two versions' fragments does not."""

    def edit(manifest: Any) -> None:
        manifest.fragments[1].inline_row_ids = manifest.fragments[0].inline_row_ids

    report = lance_sql.verify(planted(healthy, tmp_path / "t.lance", 20, edit), version=20)
    assert "row ids belong to two live rows" in str(report)


def _another_column(manifest: Any) -> None:
    manifest.fragments[0].files[0].column_indices[0] = 9


def _another_field(manifest: Any) -> None:
    manifest.fragments[0].files[0].fields[:] = reversed(manifest.fragments[0].files[0].fields)


def _another_size(manifest: Any) -> None:
    manifest.fragments[0].files[0].file_size_bytes += 1


def _other_rows(manifest: Any) -> None:
    manifest.fragments[0].physical_rows += 1


def _one_field_less(manifest: Any) -> None:
    del manifest.fragments[0].files[0].fields[0]


@pytest.mark.parametrize("edit", [_another_column, _another_field, _another_size, _other_rows, _one_field_less])
@pytest.mark.parametrize("version", [17, 20])
def test_versions_are_checked_against_their_manifests(
    healthy: Path, tmp_path: Path, edit: Callable[[Any], None], version: int
) -> None:
    """Other versions have the same files, and are healthy."""
    path = tmp_path / "t.lance"
    shutil.copytree(healthy, path)
    edit_manifest(path / lance_sql.open(path, version=version).snapshot.manifest_path, edit)
    report = lance_sql.verify(path, deep=True)
    assert {each for problem in report.problems for each in problem.versions} == {version}, str(report)
    assert report.versions == tuple(range(1, 21))


def test_the_command_has_exit_codes_and_json(healthy: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert run(main, ["verify", str(healthy)]).exit_code == 0
    assert run(main, ["verify", f"{healthy}@3", "--deep"]).exit_code == 0
    assert run(main, ["verify", str(tmp_path / "none.lance")]).exit_code == 3
    table = tmp_path / "t.lance"
    shutil.copytree(healthy, table)
    next((table / "data").iterdir()).unlink()
    result = run(main, ["verify", str(table), "-o", "json"])
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["problems"][0]["message"] == "the file is missing"
    assert not report["is_healthy"]


@pytest.mark.parametrize("case", corpus_params("cases", ""))
def test_tables_of_every_writer_are_healthy(case: Case) -> None:
    if any(version.get("expect") == "error" for version in case.info["versions"]):
        pytest.skip("the case holds versions that cannot be read")
    for branch in [None, *(case.info.get("branches") or {})]:
        report = lance_sql.verify(case.table, branch=branch, deep=True)
        assert report.is_healthy, str(report)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


@pytest.mark.parametrize("damage", ["missing", "cut", "page", "deletions", "row_ids", "manifest", "fragment"])
def test_errors_of_damage_name_table_and_version(tmp_path: Path, damage: str) -> None:
    """Otherwise a join of two tables would not show which one is damaged."""
    root = tmp_path / "orders.lance"
    lance_sql.write({"id": range(5000), "s": [str(number) for number in range(5000)]}, root).delete("id = 7")
    (data,) = (root / "data").iterdir()
    if damage == "missing":
        data.unlink()
    elif damage == "cut":
        _cut(data)
    elif damage == "page":
        content = bytearray(data.read_bytes())
        content[0:400] = b"\xff" * 400
        data.write_bytes(content)
    elif damage == "deletions":
        _cut(next((root / "_deletions").iterdir()))
    elif damage == "manifest":
        _cut(newest_manifest(root))
    else:

        def edit(manifest: Any) -> None:
            if damage == "row_ids":
                manifest.fragments[0].inline_row_ids = b"\xff" * 9
            else:
                manifest.fragments[0].files[0].path = "../../x"

        edit_manifest(newest_manifest(root), edit)
    with pytest.raises(lance_sql.CorruptFile) as raised:
        lance_sql.open(root).scan(["id", "_rowid"]).to_table()
    assert "orders.lance version 2" in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
