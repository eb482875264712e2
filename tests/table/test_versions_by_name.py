"""A version is named by its number, a tag or a time, wherever one is taken."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path

import lance
import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli import main
from lance_sql.errors import InvalidArgument, VersionNotFound
from lance_sql.table.versions import VersionLike
from lance_sql.values import moments


@pytest.fixture
def table(tmp_path: Path) -> lance_sql.Dataset:
    """Version 1 was committed before version 2, which the tag `audited` names; 3 is the newest."""
    made = lance_sql.write({"id": [1]}, tmp_path / "t.lance").update({"id": "2"}, "true")
    made.tags.create("audited")
    return made.update({"id": "3"}, "true")


def between(table: lance_sql.Dataset) -> datetime:
    """A time at which version 2 was the newest."""
    first, second = (table.versions()[number].timestamp for number in (1, 2))
    assert first is not None
    assert second is not None
    return first + (second - first) / 2


class Stopped(datetime):
    """A clock that does not move while the test runs."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Stopped:
        return cls(2099, 1, 1, tzinfo=tz)


NAMES: dict[str, Callable[[lance_sql.Dataset], VersionLike]] = {
    "number": lambda table: 2,
    "before": lambda table: -1,
    "text": lambda table: "2",
    "tag": lambda table: "audited",
    "datetime": between,
    "iso": lambda table: between(table).isoformat(),
    "age": lambda table: datetime(2099, 1, 1, tzinfo=UTC) - between(table),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_door_takes_it(table: lance_sql.Dataset, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "age":
        monkeypatch.setattr(moments, "datetime", Stopped)
    version = NAMES[name](table)
    assert lance_sql.open(table.uri, version=version).version == 2
    assert lance_sql.open(table.uri, version=version, branch="main").version == 2
    if name != "before":
        assert table.changes(version, version).end == 2
        assert table.changes(since=version).start == 3
    assert lance_sql.verify(table.uri, version=version).versions == (2,)
    assert lance_sql.audit(table.uri, version=version).versions == (2,)
    _ = lance_sql.salvage(table.uri, table.uri + ".saved", version=version)
    assert lance_sql.open(table.uri + ".saved").to_table()["id"].to_pylist() == [2]
    table.tags.create("same", version)
    table.tags.move("same", version)
    assert table.tags.list()["same"].version == 2
    assert table.restore(version).to_table()["id"].to_pylist() == [2]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "age"])
def test_addresses_and_sql_take_it(table: lance_sql.Dataset, name: str) -> None:
    version = NAMES[name](table)
    text = version.isoformat() if isinstance(version, datetime) else version
    assert lance_sql.open(f"{table.uri}@{text}").version == 2
    assert lance_sql.connect().sql(f"SELECT id FROM lance_scan('{table.uri}', version := '{text}')").fetchall() == [
        (2,)
    ]
    assert lance_sql.sql(f"SELECT id FROM '{table.uri}' VERSION AS OF '{text}'").fetchall() == [(2,)]
    assert lance_sql.sql(f"SELECT id FROM lance_scan('{table.uri}', '{text}')").fetchall() == [(2,)]


def test_versions_of_long_ago_and_of_now(table: lance_sql.Dataset) -> None:
    assert lance_sql.open(table.uri, version="0s").version == 3
    assert lance_sql.open(f"{table.uri}@0s").version == 3
    assert lance_sql.diff(table, timedelta(0)).before.version == 3
    for version in ("yesterday", "1d", timedelta(days=1), date(2020, 1, 1), "2020-01-01"):
        with pytest.raises(VersionNotFound, match="did not exist at"):
            lance_sql.open(table.uri, version=version)
        assert [each.version for each in table.history(since=version)] == [1, 2, 3]
        assert table.changes(since=version).start == 1


def test_a_number_is_a_version_even_if_a_tag_has_it(table: lance_sql.Dataset) -> None:
    # which another library makes
    lance.dataset(table.uri).tags.create("2", 3)
    assert lance_sql.open(table.uri, version="2").version == 2
    assert lance_sql.open(f"{table.uri}@2").version == 2
    assert table.changes(since="2").start == 3
    assert table.changes("2", "2").end == 2
    assert lance_sql.sql(
        f"SELECT DISTINCT _commit_version FROM lance_changes('{table.uri}', since := '2')"
    ).fetchall() == [(3,)]
    assert lance_sql.open(table.uri, tag="2").version == 3
    table.tags.delete("2")
    assert list(table.tags.list()) == ["audited"]


def test_a_tag_is_stronger_than_a_branch_and_a_branch_than_a_time(table: lance_sql.Dataset) -> None:
    # which another library makes
    foreign = lance.dataset(table.uri)
    foreign.create_branch("2020-01-01")
    assert lance_sql.open(f"{table.uri}@2020-01-01").branch == "2020-01-01"
    foreign.tags.create("2020-01-01", 1)
    assert lance_sql.open(f"{table.uri}@2020-01-01").version == 1
    assert lance_sql.open(table.uri, version="2020-01-01").version == 1


def test_what_is_neither_is_said(table: lance_sql.Dataset) -> None:
    with pytest.raises(VersionNotFound, match="Did you mean 'audited'"):
        lance_sql.open(table.uri, version="audted")
    for wrong in (1.5, True, ["audited"]):
        with pytest.raises(InvalidArgument, match="is not a whole number, a tag or a time"):
            lance_sql.open(table.uri, version=wrong)  # type: ignore[arg-type]  # wrong on purpose
    table.branches.create("b")
    with pytest.raises(InvalidArgument, match=r"names version 2 of branch 'main'"):
        lance_sql.open(table.uri, version="audited", branch="b")
    with pytest.raises(InvalidArgument, match="of branch 'main'"):
        lance_sql.open(table.uri, branch="b").restore("audited")


def test_verbs_of_the_command_line_take_times(table: lance_sql.Dataset) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code in (0, 1), result.output
        return result.output

    when = between(table).isoformat()
    assert "version         2" in run("describe", f"{table.uri}@{when}")
    assert "version 2 -> t.lance version 3" in run("diff", table.uri, when)
    assert "version 2 -> t.lance version 3" in run("diff", table.uri, when, "0s")
    assert run("changes", table.uri, "--since", when, "--output", "csv").count("\n") == 3
    assert run("changes", table.uri, "--since", "1d", "--output", "csv").count("\n") == 6
    assert "to version 2 (1 row)" in run("restore", table.uri, when, "--dry-run")
