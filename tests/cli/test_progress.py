"""Progress on a terminal: of every verb that may take long, and nowhere else."""

from __future__ import annotations

import os
import pty
import shutil
from pathlib import Path

import pytest

import lance_sql
from tests.forked import Forks

ROWS = 20_000
_MAIN = """
import sys
from lance_sql.cli import progress
progress._SECONDS_WITHOUT = progress._SECONDS_BETWEEN = 0.0
from lance_sql.cli.main import main
main()
"""

VERBS = {
    "delete": ["delete", "t.lance", "--where", "g = 3", "--yes"],
    "update": ["update", "t.lance", "g=g + 1", "--where", "g = 3", "--yes"],
    "merge": ["merge", "t.lance", "SELECT i AS id, 7 AS g FROM range(50) r(i)", "--on", "id", "--yes"],
    "compact": ["compact", "t.lance"],
    "cleanup": ["cleanup", "t.lance", "--keep", "1", "--yes"],
    "diff": ["diff", "t.lance", "1", "2"],
    "index": ["index", "create", "t.lance", "id", "btree"],
    "audit": ["audit", "t.lance"],
    "verify": ["verify", "t.lance"],
    "analyze": ["analyze", "t.lance", "id", "--cache", "statistics"],
    "index optimize": ["index", "optimize", "t.lance"],
    "apply": ["apply", "t.lance", "SELECT i AS id, 7 AS g FROM range(50) r(i)", "--keys", "id", "--yes"],
    "changes": ["changes", "t.lance", "--output", "jsonl"],
    "net changes": ["changes", "t.lance", "--mode", "net", "--output", "csv"],
    "repair": ["repair", "t.lance", "--yes"],
    "salvage": ["salvage", "t.lance", "saved.lance"],
    "write": ["write", "new.lance", "FROM 't.lance'"],
    "sql optimize": ["--yes", "OPTIMIZE 't.lance'"],
    "sql update": ["--yes", "UPDATE 't.lance' SET g = 9 WHERE g = 3"],
    "sql insert": ["--yes", "INSERT INTO 't.lance' SELECT * FROM 't.lance'"],
    "sql merge": [
        "--yes",
        "MERGE INTO 't.lance' AS t USING (SELECT i AS id FROM range(50) r(i)) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET g = 1",
    ],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("progress") / "t.lance"
    for number in range(2):
        ids = range(number * ROWS, (number + 1) * ROWS)
        rows = {"id": list(ids), "g": [i % 10 for i in ids]}
        table = lance_sql.write(rows, path, mode="append" if number else "create")
    table.indices.create("g", "btree").update({"g": "g + 1"}, "g = 5")
    return path


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "t.lance")
    return tmp_path


def _on_terminal(forks: Forks, folder: Path, arguments: list[str]) -> str:
    """Returns the output of the command with a terminal as stderr."""
    ours, its = pty.openpty()
    with open(os.devnull, "wb") as nowhere:
        process = forks.start(["-c", _MAIN, *arguments], cwd=folder, stdout=nowhere.fileno(), stderr=its)
    os.close(its)
    found = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        found += part
    process.wait()
    os.close(ours)
    return found.decode()


@pytest.mark.parametrize("verb", VERBS)
def test_a_terminal_shows_how_far_a_verb_is(forks: Forks, folder: Path, verb: str) -> None:
    shown = _on_terminal(forks, folder, VERBS[verb])
    assert "\r\x1b[2K" in shown, shown


@pytest.mark.parametrize("verb", ["delete", "compact", "changes", "apply", "sql update"])
def test_quiet_shows_nothing(forks: Forks, folder: Path, verb: str) -> None:
    first, *others = VERBS[verb]
    arguments = [*VERBS[verb], "--quiet"] if not verb.startswith("sql") else ["--quiet", first, *others]
    assert "\x1b[2K" not in _on_terminal(forks, folder, arguments)


def test_nothing_is_shown_off_a_terminal(forks: Forks, folder: Path) -> None:
    done = forks.run(["-c", _MAIN, *VERBS["compact"]], cwd=folder)
    assert done.returncode == 0
    assert "\x1b[2K" not in done.stderr + done.stdout


def test_a_callback_receives_every_step(tmp_path: Path) -> None:
    table = lance_sql.write({"id": list(range(ROWS)), "g": [i % 10 for i in range(ROWS)]}, tmp_path / "t.lance")
    told: list[tuple[int, int | None]] = []

    def tell(done: int, total: int | None) -> None:
        told.append((done, total))

    table = table.update({"g": "g + 1"}, "g = 3", progress=tell)
    assert told[0] == (0, ROWS)
    assert told[-1] == (ROWS, ROWS)
    told.clear()
    table = table.indices.create("id", "btree", progress=tell)
    # values are read, then written in order
    assert told.count((0, ROWS + ROWS // 10)) == 1
    assert (ROWS, ROWS) in told
    told.clear()
    table.maintenance.compact(target_rows=10 * ROWS, progress=tell)
    assert told[-1] == (ROWS, ROWS)


def test_a_callback_receives_the_progress_of_statements_and_diffs(tmp_path: Path) -> None:
    rows = {"id": list(range(ROWS)), "g": [i % 10 for i in range(ROWS)]}
    table = lance_sql.write(rows, tmp_path / "t.lance")
    told: list[tuple[int, int | None]] = []

    def tell(done: int, total: int | None) -> None:
        told.append((done, total))

    for statement in (
        f"UPDATE '{table.uri}' SET g = g + 1 WHERE g = 3",
        f"INSERT INTO '{table.uri}' SELECT * FROM '{table.uri}'",
        f"OPTIMIZE '{table.uri}'",
    ):
        told.clear()
        lance_sql.sql(statement, progress=tell)
        assert told[-1][0] >= ROWS // 10, statement
    told.clear()
    other = lance_sql.write({**rows, "g": [0] * ROWS}, tmp_path / "other.lance")
    lance_sql.diff(table, other, "id", progress=tell)
    assert told[-1][0] >= ROWS
