"""The origin of a commit: writer and job."""

from __future__ import annotations

import getpass
import platform
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

import lance_sql
from lance_sql.cli.main import main
from lance_sql.errors import InvalidArgument
from lance_sql.table import commit_origin


@pytest.fixture(autouse=True)
def nothing_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_origin, "_configured", {})
    for name in ("LANCE_SQL_JOB", "LANCE_SQL_USER", "LANCE_SQL_HOST"):
        monkeypatch.delenv(name, raising=False)


def table(path: Path) -> lance_sql.Dataset:
    return lance_sql.write({"id": [1, 2, 3]}, path / "t.lance")


def test_a_commit_records_user_and_host(tmp_path: Path) -> None:
    (entry,) = table(tmp_path).history()
    assert (entry.user, entry.host, entry.job) == (getpass.getuser(), platform.node(), None)


def test_configuration_overrides_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_SQL_USER", "airflow")
    monkeypatch.setenv("LANCE_SQL_JOB", "nightly")
    made = table(tmp_path)
    lance_sql.configure(user="etl", host="")
    made = made.delete("id = 1")
    with lance_sql.job("backfill"):
        made = made.delete("id = 2")
        lance_sql.sql(f"DELETE FROM '{made.uri}' WHERE id = 3")
    entries = lance_sql.open(made.uri).history()
    assert [entry.job for entry in entries] == ["nightly", "nightly", "backfill", "backfill"]
    assert [entry.user for entry in entries] == ["airflow", "etl", "etl", "etl"]
    assert [entry.host for entry in entries] == [platform.node(), None, None, None]


def test_names_are_text() -> None:
    with pytest.raises(InvalidArgument, match="job=7 is not text"):
        lance_sql.configure(job=7)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(InvalidArgument, match="name of a job must be text"), lance_sql.job(None):  # type: ignore[arg-type]  # wrong on purpose
        pass


def test_a_history_is_cut_by_time_and_job(tmp_path: Path) -> None:
    with lance_sql.job("load"):
        made = table(tmp_path)
    made = made.delete("id = 1")
    with lance_sql.job("load"):
        made = made.delete("id = 2")
    assert [entry.version for entry in made.history(job="load")] == [1, 3]
    assert [entry.version for entry in made.history(1, job="load")] == [3]
    second = made.history()[1].timestamp
    assert second is not None
    assert [entry.version for entry in made.history(since=second)] == [2, 3]
    assert [entry.version for entry in made.history(since=second, job="load")] == [3]
    for everything in ("1d", "yesterday", timedelta(hours=1), datetime.now(UTC) - timedelta(hours=1)):
        assert len(made.history(since=everything)) == 3
        assert made.changes(since=everything).count_rows("_change_type = 'delete'") == 2
    assert made.history(since=datetime.now(UTC) + timedelta(hours=1)) == ()
    with pytest.raises(InvalidArgument, match="'soon' is not a time"):
        made.history(since="soon")


def test_the_command_line_shows_the_job_first(tmp_path: Path) -> None:
    with lance_sql.job("nightly"):
        made = table(tmp_path)
    lance_sql.write({"id": [4]}, made, mode="append")
    done = CliRunner().invoke(main, ["history", made.uri, "--job", "nightly", "--since", "1d", "-o", "csv"])
    assert done.exit_code == 0, done.output
    header, row = done.output.splitlines()
    assert header.startswith("version,timestamp,operation,inserted,updated,deleted,job,")
    assert row.split(",")[6] == "nightly"
