"""Rules that are kept with a table: what breaks them, of all rows and of changed ones."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import lance_sql
from lance_sql import Dataset
from lance_sql.cli import main
from lance_sql.errors import ColumnNotFound, ContractBroken, InvalidArgument, VersionNotFound
from tests.seeds import seeds


@pytest.fixture
def table(tmp_path: Path) -> Dataset:
    rows = {
        "id": [1, 2, 3, None],
        "status": ["open", "paid", None, "open"],
        "amount": [1.5, -2.0, None, 0.0],
        "loaded_at": [datetime.now(UTC) - timedelta(hours=hours) for hours in range(4)],
        "p": [{"x": 1}, {"x": 2}, {"x": 3}, None],
    }
    lance_sql.write({"status": ["open", "paid"]}, tmp_path / "states.lance")
    return lance_sql.write(rows, tmp_path / "orders.lance")


@pytest.mark.parametrize(
    ("rule", "broken", "message"),
    [
        ("unique(id)", 0, ""),
        ("unique(status)", 2, "1 key is there several times, such as status='open' (2 rows)"),
        ("UNIQUE ( status , id )", 0, ""),
        ("unique(p.x)", 0, ""),
        ("not_null(id)", 1, "1 row has NULL, such as id=None"),
        ("not_null(id, status)", 2, "2 rows have NULL"),
        ("not_null(p.x)", 1, "1 row has NULL"),
        ("accepted_values(status, 'open', 'paid')", 0, ""),
        ("accepted_values(status, 'open', 'it''s')", 1, "1 row has another value"),
        ("accepted_values(id, 1, 2)", 1, "1 row has another value"),
        ("accepted_values(amount, 1.5, -2.0, 0)", 0, ""),
        ("foreign_key(status, 'states.lance', status)", 0, ""),
        ("foreign_key(id, 'orders.lance', id)", 0, ""),
        ("freshness(loaded_at, '1d')", 0, ""),
        ("freshness(loaded_at, '0m')", None, "the newest loaded_at is"),
        ("row_count_change(-0.1, 0.5)", 0, ""),
        ("amount >= 0", 1, "1 row breaks it, such as id=2"),
        ("amount >= 0 OR status = 'paid'", 0, ""),
        ("p.x < 3", 1, "1 row breaks it"),
    ],
)
def test_each_kind_of_rule(table: Dataset, rule: str, broken: int | None, message: str) -> None:
    report = table.rules.set("it", rule).rules.check()
    (result,) = report.results
    assert (result.is_kept, result.broken) == (not message, broken)
    assert message in result.message
    assert report.is_kept == (not message)
    assert rule.strip() in str(report)
    json.dumps(report.to_dict())


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("unique(nothing)", ColumnNotFound),
        ("unique()", InvalidArgument),
        ("unique(id, 3)", InvalidArgument),
        ("not_null('id')", InvalidArgument),
        ("accepted_values(status)", InvalidArgument),
        ("accepted_values(status, id)", InvalidArgument),
        ("foreign_key(status, 'x.lance')", InvalidArgument),
        ("freshness(loaded_at, 'soon')", InvalidArgument),
        ("freshness(loaded_at)", InvalidArgument),
        ("row_count_change(1, -1)", InvalidArgument),
        ("row_count_change('a', 'b')", InvalidArgument),
        ("amount >", InvalidArgument),
        ("nothing > 3", ColumnNotFound),
        ("", InvalidArgument),
        ("unique(id) AND amount > 3", InvalidArgument),
    ],
)
def test_rules_that_make_no_sense_are_refused_when_they_are_set(
    table: Dataset, rule: str, error: type[Exception]
) -> None:
    with pytest.raises((error, lance_sql.UnsupportedFeature)):
        table.rules.set("it", rule)
    with pytest.raises(InvalidArgument):
        table.rules.set("a b", "unique(id)")
    with pytest.raises(InvalidArgument, match="Did you mean 'unique'"):
        table.rules.set("it", "uniqe(id)")
    with pytest.raises(InvalidArgument):
        table.rules.set("it", "unique(id)", severity="fatal")  # type: ignore[arg-type]  # wrong on purpose
    assert table.latest().rules.list() == {}


def test_rules_are_replaced_dropped_and_travel_with_the_table(table: Dataset) -> None:
    table.rules.set("a", "unique(id)").rules.set("b", "amount > 0", severity="warn").rules.set("a", "not_null(id)")
    lance.dataset(table.uri).delete("id = 1")
    latest = table.latest()
    assert {name: (rule.text, rule.severity) for name, rule in latest.rules.list().items()} == {
        "a": ("not_null(id)", "error"),
        "b": ("amount > 0", "warn"),
    }
    assert latest.rules.check("b").is_kept
    assert not latest.rules.check("b").results[0].is_kept
    assert [row[0] for row in lance_sql.connect().sql(f"FROM lance_rules('{table.uri}')").fetchall()] == ["a", "b"]
    with pytest.raises(InvalidArgument, match=r"no rule 'c'\. Rules: a, b"):
        latest.rules.check("c")
    assert set(latest.rules.drop("a").rules.list()) == {"b"}
    with pytest.raises(VersionNotFound, match="No rule 'a'"):
        latest.rules.drop("a")


def test_only_changed_rows_are_looked_at(table: Dataset) -> None:
    made = table.rules.set("sane", "amount >= 0").rules.set("one", "unique(id)").rules.set("known", "not_null(id)")
    lance_sql.write({"id": [9], "amount": [3.0]}, table.uri, mode="append")
    latest = table.latest()
    assert not latest.rules.check().is_kept
    report = latest.rules.check(since=made.version)
    assert report.is_kept
    assert report.since == made.version
    # a key that was there before
    lance_sql.write({"id": [2], "amount": [3.0]}, table.uri, mode="append")
    (broken,) = table.latest().rules.check(since=latest.version).broken
    assert (broken.rule.name, broken.broken) == ("one", 2)
    assert latest.rules.check(since=latest.version).is_kept


def test_broken_rules_prevent_publishing(table: Dataset) -> None:
    made = table.rules.set("sane", "amount > -10").rules.set("odd", "id % 2 = 1", severity="warn")
    with made.branches.staged("load") as branch:
        lance_sql.write({"id": [10], "amount": [-99.0]}, branch, mode="append")
    with pytest.raises(ContractBroken, match=r"not published: sane, amount > -10: 1 row breaks it, such as id=10"):
        made.branches.publish("load")
    assert "load" in made.branches.list()
    lance_sql.open(table.uri, branch="load").update({"amount": "1.0"}, "id = 10")
    assert made.branches.publish("load").count_rows("id = 10") == 1


@seeds(range(6), range(6, 12))
def test_changed_rows_break_a_rule_when_all_rows_do(tmp_path: Path, seed: int) -> None:
    """A table that keeps its rules keeps them when its changed rows do."""
    choice = random.Random(seed)
    path = str(tmp_path / "t.lance")
    table = lance_sql.write({"id": list(range(20)), "v": [0] * 20}, path)
    table = (
        table.rules.set("ids", "unique(id)")
        .rules.set("v", "v < 5")
        .rules.set("known", "accepted_values(v, 0, 1, 2, 7)")
    )
    for _ in range(10):
        before = table.latest()
        match choice.randint(0, 3):
            case 0:
                rows: dict[str, Any] = {"id": [choice.randint(0, 40)], "v": [choice.choice([0, 1, 7, 3])]}
                lance_sql.write(rows, path, mode="append")
            case 1:
                before.update({"v": str(choice.choice([0, 1, 7, 3]))}, f"id = {choice.randint(0, 40)}")
            case 2:
                before.delete(f"id = {choice.randint(0, 40)}")
            case 3:
                before.update({"id": str(choice.randint(0, 40))}, f"id = {choice.randint(0, 40)}")
        after = table.latest()
        whole, changed = after.rules.check(), after.rules.check(since=before.version)
        kept = [[each.is_kept for each in report.results] for report in (whole, changed)]
        assert kept[0] == kept[1]
        if not whole.is_kept:
            before.restore()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_the_verbs(table: Dataset) -> None:
    assert run("rules", table.uri, "sane", "amount >= 0").exit_code == 0
    assert run("rules", table.uri, "ids", "unique(id)", "--warn").exit_code == 0
    assert [row["rule"] for row in json.loads(run("rules", table.uri, "-o", "json").stdout)] == ["ids", "sane"]
    result = run("check", table.uri)
    assert result.exit_code == 1
    assert "FAIL sane: amount >= 0: 1 row breaks it" in result.stdout
    assert json.loads(run("check", table.uri, "ids", "-o", "json").stdout)["is_kept"]
    assert run("check", table.uri, "--since", "3").exit_code == 0
    assert run("rules", table.uri, "sane", "--drop", "--yes").exit_code == 0
    assert run("check", table.uri).exit_code == 0
    assert run("rules", table.uri, "x").exit_code == 2


def test_a_column_in_the_place_of_another_one_changes_every_row(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1, 2], "v": [5, 6], "w": [-5, -6]}, tmp_path / "t.lance")
    made = made.rules.set("there", "not_null(v)").rules.set("sane", "v > 0")
    swapped = made.rename_columns({"v": "w", "w": "v"})
    assert [each.rule.name for each in swapped.rules.check(since=made.version).broken] == ["sane"]
    empty = made.drop_columns("v").add_columns([pa.field("v", pa.int64())])
    assert [each.rule.name for each in empty.rules.check(since=made.version).broken] == ["there"]


@pytest.mark.parametrize("enforce", [False, True])
@pytest.mark.parametrize("text", ["s > 0", "not_null(s)", "unique(id, s)", "accepted_values(s, 1, 2)"])
@pytest.mark.parametrize("verb", ["rename", "drop", "cast"])
def test_columns_of_rules_that_change(
    tmp_path: Path, enforce: bool, text: str, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = lance_sql.write({"id": [1, 2], "s": [1, 2], "v": [1, 2]}, tmp_path / "t.lance")
    table = table.rules.set("ids", "unique(id)").rules.set("r", text, enforce=enforce)

    def act(name: str) -> Dataset:
        if verb == "cast":
            return table.latest().alter_column(name, type=pa.string())
        return (
            table.latest().drop_columns([name]) if verb == "drop" else table.latest().rename_columns({name: f"{name}2"})
        )

    if verb == "cast" and "null" in text + text.replace("unique", "null"):
        # these rules take any type
        assert act("s").rules.check().is_kept
        return
    act("v")
    assert table.latest().rules.check().is_kept
    assert not caplog.records
    if enforce:
        with pytest.raises(ContractBroken, match="has the rule r, "):
            act("s")
        assert table.latest().rules.check().is_kept
        return
    act("s")
    (record,) = caplog.records
    assert "the rule r, " in record.getMessage()
    table = table.latest()
    assert {name: rule.kind for name, rule in table.rules.list().items()} == {"ids": "unique", "r": "unusable"}
    assert [each.rule.name for each in table.rules.check().broken] == ["r"]
    assert table.rules.check("ids").is_kept


@pytest.mark.parametrize("value", [None, "no JSON", "[]", '{"rule": 5}', "{}"])
def test_one_rule_that_cannot_be_checked_leaves_the_others(tmp_path: Path, value: str | None) -> None:
    table = lance_sql.write({"id": [1, 1], "s": [1, 2]}, tmp_path / "t.lance")
    table = table.rules.set("ids", "unique(id)").rules.set("r", "s > 0").rules.set("warned", "s > 0", severity="warn")
    if value is None:
        # another library does not know the rules
        change: Any = {"path": "s", "name": "other"}
        lance.dataset(table.uri).alter_columns(change)
    else:
        table.config.update({"lance_sql.rule.r": value})
    table = lance_sql.open(table.uri)
    assert table.rules.list()["r"].kind == "unusable"
    report = table.rules.check()
    assert {each.rule.name for each in report.broken} >= {"ids", "r"}
    assert "set it again, or drop it" in next(each.message for each in report.broken if each.rule.name == "r")
    assert [each.rule.name for each in table.rules.check("ids").results] == ["ids"]
    assert "r" not in table.rules.drop("r").rules.list()
