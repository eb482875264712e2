"""Commands of the shell whose streams are closed or full, or that are interrupted: no traceback, the documented exit
code, and no cursor moves past changes that nobody took."""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lance_sql

COMMAND = shlex.join([sys.executable, "-m", "lance_sql.cli"])
COMMANDS = {
    "query": "query \"FROM 't.lance'\"",
    "one row": "\"FROM 't.lance' LIMIT 1\"",
    "json": "query -o json \"FROM 't.lance'\"",
    "csv": "query -o csv \"FROM 't.lance'\"",
    "arrow": "query -o arrow \"FROM 't.lance'\"",
    "head": "head t.lance",
    "describe": "describe t.lance",
    "schema": "schema t.lance",
    "history": "history t.lance",
    "versions": "versions t.lance",
    "files": "files t.lance",
    "layout": "layout t.lance",
    "explain": 'explain t.lance "id = 5"',
    "queries": "queries",
    "changes": "changes t.lance",
    "changes as lines": "changes t.lance -o jsonl",
    "cursor": "changes t.lance --cursor c -o jsonl",
    "page": "changes t.lance --html -",
    "diff": "diff t.lance t.lance@1 --key id",
    "row-history": 'row-history t.lance "id = 5"',
    "cursors": "cursors t.lance",
    "index": "index t.lance",
    "tag": "tag t.lance",
    "branch": "branch t.lance",
    "rules": "rules t.lance",
    "check": "check t.lance",
    "verify": "verify t.lance",
    "audit": "audit t.lance",
    "cleanup": "cleanup t.lance --dry-run",
    "compact": "compact t.lance --dry-run",
    "search": "search t.lance --text 5 --column s",
    "update": 'update t.lance "s = \'x\'" --where "id = 1" --yes',
    "delete": 'delete t.lance --where "id = 2" --yes',
    "help": "--help",
    "help of a verb": "changes --help",
    "version": "--version",
    "wrong verb": "histroy t.lance",
    "no table": "head none.lance",
}
CLOSINGS = {
    "stdin": "<&-",
    "stdout": ">&-",
    "stderr": "2>&-",
    "all": "<&- >&- 2>&-",
    "full stdout": "> /dev/full",
    "full stderr": "2> /dev/full",
    "both full": "> /dev/full 2> /dev/full",
    "stdout for reading": "1< /dev/null",
    "pipe": "| true",
    "pipe of stderr": "2> >(true)",
}
ENVIRONMENTS = {
    "narrow": {"COLUMNS": "1"},
    "dumb": {"TERM": "dumb"},
    "ascii": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "latin": {"PYTHONIOENCODING": "latin-1"},
    "utf-16": {"PYTHONIOENCODING": "utf-16"},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
}
DOCUMENTED = {0, 1, 2, 3}
FEW = ("one row", "cursor", "queries", "help", "update")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "t.lance"
    lance_sql.write({"id": list(range(3000)), "s": [f"ä{n} \U0001f600" for n in range(3000)]}, path)
    table = lance_sql.open(path).delete("id = 0")
    table.cursors.open("c", start="earliest")
    return tmp_path


def run(folder: Path, script: str, **environment: str) -> tuple[int, str]:
    """Runs a script of the shell, and returns the exit code of its first command and its errors."""
    done = subprocess.run(
        ["bash", "-c", f"{script}\nexit ${{PIPESTATUS[0]}}"],
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stderr.decode(errors="replace")


def check(folder: Path, command: str, way: str, **environment: str) -> None:
    before = lance_sql.open(folder / "t.lance").cursors.open("c").position
    expected, _ = run(folder, f"{COMMAND} {COMMANDS[command]} > /dev/null") if command != "cursor" else (0, "")
    code, errors = run(folder, f"{COMMAND} {COMMANDS[command]} {way}", **environment)
    assert "Traceback" not in errors, errors
    assert "Exception ignored" not in errors, errors
    assert code in DOCUMENTED, (code, errors)
    lost = any(each in way for each in (">&-", "> /dev/full", "1< ")) and not way.startswith("2>")
    if code == expected:
        # what was written is whole, was for nobody, or there was nothing to write
        assert code != 0 or "Error" not in errors, errors
    else:
        assert code == 3 if lost else code == 0, (code, errors)
    if command == "cursor":
        moved = lance_sql.open(folder / "t.lance").cursors.open("c").position != before
        assert not (lost and moved), "the cursor moved past changes that were not written"


CASES = [(command, way) for command in COMMANDS for way in CLOSINGS]
SHORT = [(command, way) for command, way in CASES if command in FEW[:2] and way in ("all", "full stdout", "pipe")]


@pytest.mark.parametrize(
    ("command", "way"), [pytest.param(*case, marks=() if case in SHORT else pytest.mark.slow) for case in CASES]
)
def test_a_closed_stream_has_a_documented_code(folder: Path, command: str, way: str) -> None:
    check(folder, command, CLOSINGS[way])


@pytest.mark.slow
@pytest.mark.parametrize(("command", "name"), list(itertools.product(COMMANDS, ENVIRONMENTS)))
def test_a_terminal_or_encoding_changes_no_code(folder: Path, command: str, name: str) -> None:
    check(folder, command, "", **ENVIRONMENTS[name])


EXECS = {
    "false": (1, "ended with 1"),
    "exit 7": (1, "ended with 7"),
    "kill -9 $$": (1, "was ended by signal 9"),
    "kill -13 $$": (1, "was ended by signal 13"),
    "exec <&-; exit 3": (1, "ended with 3"),
    "head -1 >> f; exit 4": (1, "ended with 4"),
    "none-such-command": (1, "ended with 127"),
    "true": (0, ""),
    "head -1 >> f": (0, ""),
    "cat | head -5 >> f": (0, ""),
    "cat >> f": (0, ""),
}


@pytest.mark.parametrize("follow", [False, True], ids=["once", "follow"])
@pytest.mark.parametrize("rows", ["few", "many"])
@pytest.mark.parametrize(
    "command",
    [pytest.param(each, marks=() if each in ("false", "head -1 >> f") else pytest.mark.slow) for each in EXECS],
)
def test_a_command_decides_whether_the_cursor_moves(tmp_path: Path, command: str, rows: str, follow: bool) -> None:
    table = lance_sql.write({"id": list(range(20_000 if rows == "many" else 3))}, tmp_path / "t.lance")
    table = lance_sql.write({"id": [-1]}, table, mode="append")
    cursor = table.cursors.open("c", start="earliest")
    how = "--follow --timeout 0" if follow else ""
    code, errors = run(tmp_path, f"{COMMAND} changes t.lance --cursor c {how} --exec {shlex.quote(command)}")
    expected, message = EXECS[command]
    assert (code, message in errors) == (expected, True), errors
    assert cursor.position == (2 if expected == 0 else 0)
    if expected:
        assert f"for the changes up to version {1 if follow else 2}" in errors
        assert "Traceback" not in errors


SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.mark.parametrize("sent", SIGNALS)
@pytest.mark.parametrize(
    "command",
    ["exec <&-; touch began; exec sleep 30", pytest.param("touch began; exec sleep 30", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("follow", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_signal_while_a_command_runs(tmp_path: Path, sent: signal.Signals, command: str, follow: bool) -> None:
    if signal.getsignal(sent) is signal.SIG_IGN:
        pytest.skip("these tests were started with nohup, which commands respect")
    table = lance_sql.write({"id": list(range(20_000))}, tmp_path / "t.lance")
    cursor = table.cursors.open("c", start="earliest")
    arguments = ["changes", "t.lance", "--cursor", "c", "--exec", command, *(["--follow"] if follow else [])]
    process = subprocess.Popen(
        [sys.executable, "-m", "lance_sql.cli", *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 60
    while not (tmp_path / "began").exists() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == SIGNALS[sent], errors
    assert "Traceback" not in errors
    assert cursor.position == 0


def test_a_process_that_ignores_hangups_goes_on(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    cursor = table.cursors.open("c", start="earliest")
    code, errors = run(tmp_path, f"trap '' HUP; {COMMAND} changes t.lance --cursor c --exec 'kill -HUP $PPID; cat > f'")
    assert (code, cursor.position) == (0, 1), errors
