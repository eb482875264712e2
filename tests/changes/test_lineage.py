"""Changes of tables whose row ids contradict the commits: refused by name, or compared by value."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from datafusion import SessionContext

import lance_sql
from lance_sql.changes.feed import ChangeFeed
from lance_sql.changes.plan import Mode
from lance_sql.cli.main import main
from lance_sql.errors import CorruptFile, DamagedLineage
from lance_sql.health.lineage_audit.faults import Kind
from tests.health.lineage_audit.test_faults import FAULTS, OVERWRITE, planted, write_history
from tests.histories.writers import Ours, Pylance, Writer

MODES: tuple[Mode, ...] = ("all", "net", "insert_only")

SEEN = {
    "the id of a live row given again",
    "the id of a deleted row given again",
    "a dropped column that changes ids",
    "a dropped column that loses rows",
    "an overwrite that counts ids anew",
    "a compaction that gives a new id",
    "a compaction that swaps ids",
    "an update that swaps ids",
}
"""Faults that contradict what rows came, went and moved, or the ids that the transaction gave."""


@pytest.fixture(scope="module", params=[Ours(), Pylance()], ids=["ours", "pylance"])
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    writer: Writer = request.param
    path = tmp_path_factory.mktemp("lineage") / "t.lance"
    write_history(writer, str(path))
    return path


def feed(path: Path, start: int, end: int, mode: Mode = "all", *, trust_snapshots: bool = False) -> ChangeFeed:
    return lance_sql.open(path, version=end).changes(start, end, mode=mode, trust_snapshots=trust_snapshots)


def count(path: Path, start: int, end: int, mode: Mode = "all", *, trust_snapshots: bool = False) -> int:
    return int(feed(path, start, end, mode, trust_snapshots=trust_snapshots).scan().to_table().num_rows)


@pytest.mark.parametrize("mode", MODES)
def test_a_history_is_in_order(history: Path, mode: Mode) -> None:
    for start in range(1, OVERWRITE + 1):
        for end in range(start, OVERWRITE + 1):
            trusted = count(history, start, end, mode=mode, trust_snapshots=True)
            assert count(history, start, end, mode=mode) == trusted


@pytest.mark.parametrize("name", sorted(SEEN))
def test_row_ids_that_contradict_a_commit_are_refused_by_name(history: Path, tmp_path: Path, name: str) -> None:
    version, edit, _ = FAULTS[name]
    path = planted(history, tmp_path / "t.lance", version, edit)
    for start in (1, version):
        for mode in MODES[:2]:
            with pytest.raises(DamagedLineage, match=rf"version {version}.*trust_snapshots=True"):
                count(path, start, version, mode)
            trusted = feed(path, start, version, mode, trust_snapshots=True)
            # an id that two rows have cannot be trusted
            if ("live row" in name and mode == "net" and start == 1) or "new id" in name:
                with pytest.raises(CorruptFile, match="two rows of one version have the row id"):
                    trusted.explain()
                continue
            explained = f"row ids contradict the transaction, snapshots are compared: version {version}"
            assert explained in trusted.explain()
    # what was before stays as it is
    assert count(path, 1, version - 1) == count(history, 1, version - 1)


def test_swapped_ids_become_updates(history: Path, tmp_path: Path) -> None:
    version, edit, _ = FAULTS["a compaction that swaps ids"]
    path = planted(history, tmp_path / "t.lance", version, edit)
    for mode in MODES[:2]:
        found = (
            feed(path, version, version, mode, trust_snapshots=True).scan(["k", "_rowid", "_change_type"]).to_table()
        )
        assert sorted(found["_change_type"].to_pylist()) == 2 * ["update_postimage"] + 2 * ["update_preimage"]
        assert len(set(found["_rowid"].to_pylist())) == 2


def test_trusted_snapshots_are_compared_by_value(history: Path, tmp_path: Path) -> None:
    version, edit, _ = FAULTS["a dropped column that loses rows"]
    path = planted(history, tmp_path / "t.lance", version, edit)
    before = lance_sql.open(path, version=version - 1).scan(["k", "_rowid"]).to_table().to_pylist()
    after = lance_sql.open(path, version=version).scan(["k", "_rowid"]).to_table().to_pylist()
    gone = [row for row in before if row not in after]
    for mode in MODES[:2]:
        rows = (
            feed(path, version, version, mode, trust_snapshots=True)
            .scan(["k", "_rowid", "_change_type"])
            .to_table()
            .to_pylist()
        )
        assert rows == [{**row, "_change_type": "delete"} for row in gone]


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - SEEN))
def test_other_faults_do_not_matter_or_are_damage(history: Path, tmp_path: Path, name: str) -> None:
    """Versions of rows that are wrong: the feed does not look at them."""
    version, edit, kinds = FAULTS[name]
    path = planted(history, tmp_path / "t.lance", version, edit)
    if kinds & {Kind.UNREADABLE}:
        with pytest.raises(CorruptFile):
            count(path, version, version)
    elif kinds != {Kind.LOST_LINEAGE}:
        assert count(path, version, version) == count(history, version, version)


def test_an_append_after_a_restore_that_took_the_next_id_back(tmp_path: Path) -> None:
    """As early releases of pylance did it."""
    restored = 3
    path = tmp_path / "source.lance"
    table = lance_sql.write({"k": [1, 2], "v": ["a", "b"]}, path)
    table = lance_sql.write({"k": [3], "v": ["c"]}, path, mode="append")
    table = table.restore(1)
    assert table.version == restored
    path = planted(path, tmp_path / "t.lance", restored, lambda manifest: setattr(manifest, "next_row_id", 2))
    lance_sql.write({"k": [4], "v": ["d"]}, path, mode="append")
    with pytest.raises(
        DamagedLineage, match=r"version 4: 1 row .row id 2. are new under ids that were assigned before"
    ):
        count(path, 3, 4)
    assert count(path, 3, 4, mode="net", trust_snapshots=True) == 2


def test_sql_and_the_command_line_ask_for_it(history: Path, tmp_path: Path) -> None:
    version, edit, _ = FAULTS["a dropped column that loses rows"]
    path = planted(history, tmp_path / "t.lance", version, edit)
    connection = lance_sql.connect()
    with pytest.raises(Exception, match="trust_snapshots=True"):
        connection.sql(f"FROM lance_changes('{path}', {version}, {version})").to_arrow_table()
    found = connection.sql(
        f"FROM lance_changes('{path}', {version}, {version}, trust_snapshots := true)"
    ).to_arrow_table()
    assert found.num_rows == count(path, version, version, trust_snapshots=True)
    context = lance_sql.register(SessionContext())
    with pytest.raises(Exception, match="trust_snapshots=True"):
        context.sql(f"SELECT * FROM lance_changes('{path}', {version}, {version})").to_arrow_table()
    call = f"lance_changes('{path}', {version}, {version}, NULL, 'all', false, true)"
    assert context.sql(f"SELECT * FROM {call}").to_arrow_table().num_rows == found.num_rows
    with pytest.raises(Exception, match="trust_snapshots=5 is neither true nor false"):
        context.sql(f"SELECT * FROM {call.replace('true', '5')}").to_arrow_table()
    asked = f"SELECT count(*) FROM {call[: call.index(', NULL')]}, trust_snapshots => true)"
    for engine in ("duckdb", "datafusion"):
        counted = pa.table(lance_sql.sql(asked, engine=engine))
        assert counted.column(0).to_pylist() == [found.num_rows]
    run = CliRunner().invoke
    assert "trust_snapshots=True" in run(main, ["changes", str(path), str(version)]).output
    assert run(main, ["changes", str(path), str(version), "--trust-snapshots"]).exit_code == 0
