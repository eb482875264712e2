"""Rules that commits keep."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql import ContractBroken, Dataset, InvalidArgument
from lance_sql.changes.contracts import ContractReport
from tests.seeds import seeds


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    rows = {"id": [1, 2, 3], "amount": [10, 20, 30], "status": ["open", "paid", "open"]}
    return lance_sql.write(rows, tmp_path / "orders.lance", stable_row_ids=True)


def _files(dataset: Dataset) -> set[str]:
    return {path.name for path in Path(dataset.uri, "data").iterdir()}


WRITES: dict[str, Callable[[Dataset], object]] = {
    "append": lambda t: lance_sql.write({"id": [4], "amount": [-1], "status": ["open"]}, t, mode="append"),
    "overwrite": lambda t: lance_sql.write({"id": [4], "amount": [-1], "status": ["open"]}, t, mode="overwrite"),
    "update": lambda t: t.update({"amount": "-amount"}, "id = 2"),
    "merge": lambda t: t.merge({"id": [2], "amount": [-5], "status": ["open"]}, on="id"),
    "apply": lambda t: lance_sql.apply_changes(t, [{"id": 3, "amount": -5, "status": "open"}], "id"),
    "sql": lambda t: lance_sql.sql(f"UPDATE '{t.uri}' SET amount = -1 WHERE id = 1"),
    "job": lambda t: _job(t),
    "drop": lambda t: t.drop_columns(["amount"]),
}


def _job(table: Dataset) -> Dataset:
    job = lance_sql.begin_write(pa.schema([("id", pa.int64()), ("amount", pa.int64())]), table, mode="append")
    return job.write({"id": [9], "amount": [-9]})


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_breaks_a_rule_leaves_nothing(table: Dataset, name: str) -> None:
    ruled = table.rules.set("sane", "amount >= 0", enforce=True)
    before = ruled.scan().to_table()
    files = _files(ruled)

    with pytest.raises(ContractBroken, match="sane"):
        WRITES[name](ruled)

    assert ruled.latest().version == ruled.version
    assert ruled.latest().scan().to_table().equals(before)
    if name not in ("job", "apply"):
        assert _files(ruled) == files


def test_columns_that_change_names_with_each_other_are_looked_at(tmp_path: Path) -> None:
    pairs = pa.array([{"x": 1, "y": -1}, {"x": 2, "y": -2}], pa.struct([("x", pa.int64()), ("y", pa.int64())]))
    rows = pa.table({"amount": [10, 20], "change": [-10, 0], "note": [1, 2], "pair": pairs})
    ruled = lance_sql.write(rows, tmp_path / "t.lance")
    ruled = ruled.rules.set("sane", "amount >= 0", enforce=True).rules.set("member", "pair.x > 0", enforce=True)
    ruled = ruled.rules.set("once", "unique(note)", enforce=True)

    for names, rule in (
        ({"amount": "change", "change": "amount"}, "sane"),
        ({"pair.x": "y", "pair.y": "x"}, "member"),
    ):
        with pytest.raises(ContractBroken, match=rule):
            ruled.rename_columns(names)
    assert ruled.latest().version == ruled.version

    renamed = ruled.rename_columns({"note": "amount", "amount": "note"})
    assert renamed.rules.check().is_kept


def test_the_error_has_the_report(table: Dataset) -> None:
    ruled = table.rules.set("states", "accepted_values(status, 'open', 'paid')", enforce=True).rules.set(
        "ids", "unique(id)"
    )

    with pytest.raises(ContractBroken, match="states") as caught:
        lance_sql.write({"id": [1], "amount": [1], "status": ["lost"]}, ruled, mode="append")

    report = caught.value.report
    assert isinstance(report, ContractReport)
    (result,) = report.broken
    assert result.examples is not None
    assert (result.rule.name, result.broken, result.examples.column("status").to_pylist()) == ("states", 1, ["lost"])


def test_rules_that_are_kept_let_everything_through(table: Dataset) -> None:
    ruled = table.rules.set("ids", "unique(id)", enforce=True).rules.set("sane", "amount >= 0", enforce=True)
    ruled = ruled.rules.set("steady", "row_count_change(-0.5, 1)", enforce=True)

    made = lance_sql.write({"id": [4], "amount": [1], "status": ["open"]}, ruled, mode="append")
    made = (
        made.delete("id = 4").update({"id": "id + 10"}, "true").maintenance.compact().add_columns({"net": "amount / 2"})
    )
    with pytest.raises(ContractBroken, match="3 rows in version"):
        made.delete("id > 11")

    assert made.latest().rules.check().is_kept
    assert [
        row["enforce"] for row in lance_sql.sql(f"SELECT enforce FROM lance_rules('{made.uri}')").to_table().to_pylist()
    ] == [True] * 3


def test_a_restore_and_a_rule_set_anew_go_through(table: Dataset) -> None:
    broken = lance_sql.write({"id": [4], "amount": [-1], "status": ["open"]}, table, mode="append")
    mended = broken.delete("amount < 0").rules.set("sane", "amount >= 0", enforce=True)

    restored = lance_sql.open(mended.uri, version=broken.version).restore()
    again = mended.latest().rules.set("sane", "amount >= 0")

    assert restored.count_rows("amount < 0") == again.count_rows("amount < 0") == 1
    assert not again.rules.list()["sane"].enforce
    assert again.update({"amount": "-7"}, "id = 1").count_rows("amount = -7") == 1


def test_a_rule_that_only_warns_is_not_enforced(table: Dataset) -> None:
    with pytest.raises(InvalidArgument, match="cannot be enforced"):
        table.rules.set("sane", "amount >= 0", severity="warn", enforce=True)


def test_the_second_of_two_writers_of_one_key_is_refused(table: Dataset) -> None:
    ruled = table.rules.set("ids", "unique(id)", enforce=True)
    writers = 4
    together = Barrier(writers)

    def insert(number: int) -> str:
        mine = lance_sql.open(ruled.uri)
        together.wait()
        try:
            lance_sql.write({"id": [7], "amount": [number], "status": ["open"]}, mine, mode="append")
        except ContractBroken:
            return "refused"
        return "inserted"

    with ThreadPoolExecutor(writers) as pool:
        outcomes = sorted(pool.map(insert, range(writers)))

    assert outcomes == ["inserted", *["refused"] * (writers - 1)]
    assert ruled.latest().count_rows("id = 7") == 1


@seeds(range(4), range(4, 8))
def test_random_writes_are_committed_just_when_the_rules_are_kept(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    stable = bool(rng.integers(2))
    table = lance_sql.write({"id": [0], "v": [0]}, tmp_path / "t.lance", stable_row_ids=stable)
    table = table.rules.set("ids", "unique(id)", enforce=True).rules.set("small", "v < 8", enforce=True)
    rows = [(0, 0)]
    for _ in range(40):
        kind = rng.choice(["append", "update", "shift", "delete", "compact"])
        low = int(rng.integers(40))
        wanted = list(rows)
        write: Callable[[], object]
        if kind == "append":
            new = [(int(rng.integers(40)), int(rng.integers(9))) for _ in range(int(rng.integers(1, 3)))]
            wanted += new
            added = {"id": [i for i, _ in new], "v": [v for _, v in new]}
            write = partial(lance_sql.write, added, table, mode="append")
        elif kind == "update":
            wanted = [(i, v + 1) if i < low else (i, v) for i, v in rows]
            write = partial(table.update, {"v": "v + 1"}, f"id < {low}")
        elif kind == "shift":
            wanted = [(i + 3, v) if i == low else (i, v) for i, v in rows]
            write = partial(table.update, {"id": "id + 3"}, f"id = {low}")
        elif kind == "delete":
            wanted = [row for row in rows if row[0] != low]
            write = partial(table.delete, f"id = {low}")
        else:
            write = table.maintenance.compact
        ids = [i for i, _ in wanted]
        if len(set(ids)) == len(ids) and all(v < 8 for _, v in wanted):
            write()
            rows = wanted
        else:
            with pytest.raises(ContractBroken):
                write()
        table = table.latest()
        found = table.scan().to_table().to_pylist()
        assert sorted((row["id"], row["v"]) for row in found) == sorted(rows)


SELF = "foreign_key(boss, 'people.lance', id)"


@pytest.fixture
def people(tmp_path: Path) -> lance_sql.Dataset:
    table = lance_sql.write({"id": [1], "boss": [1]}, tmp_path / "people.lance")
    table = table.rules.set("boss", SELF, enforce=True)
    return lance_sql.write({"id": [2, 3], "boss": [2, 2]}, table, mode="append")


def test_a_foreign_key_into_its_own_table_sees_the_rows_of_the_same_commit(people: lance_sql.Dataset) -> None:
    people = people.merge({"id": [3, 9], "boss": [9, 9]}, on="id")
    with people.branches.staged("hires") as staged:
        lance_sql.write({"id": [20, 21], "boss": [21, 20]}, staged, mode="append")
    people = lance_sql.write({"id": [7, 8], "boss": [8, 7]}, people.latest(), mode="overwrite")
    assert people.rules.check().is_kept


@pytest.mark.parametrize(
    "change",
    [
        lambda table: lance_sql.write({"id": [4], "boss": [99]}, table, mode="append"),
        lambda table: table.delete("id = 2"),
        lambda table: table.update({"id": "id + 100"}, "true"),
        lambda table: table.update({"id": "7"}, "id = 2"),
        lambda table: table.merge({"id": [3], "boss": [99]}, on="id"),
        lambda table: lance_sql.write({"id": [7], "boss": [1]}, table, mode="overwrite"),
    ],
)
def test_a_foreign_key_into_its_own_table_is_enforced(
    people: lance_sql.Dataset, change: Callable[[lance_sql.Dataset], object]
) -> None:
    with pytest.raises(ContractBroken, match="not in id of people"):
        change(people)
    assert people.latest().version == people.version
