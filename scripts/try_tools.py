"""Runs the recipes for other tools, each in an environment of its own above that of the tests.

    .venv/bin/python scripts/try_tools.py FOLDER            those that install fast
    .venv/bin/python scripts/try_tools.py FOLDER PyTorch    the named ones
    .venv/bin/python scripts/try_tools.py --table           writes the table of docs/support.md

`tests/tools/catalog.py` has the tools. An environment sees the packages of the one that runs this script, and has what
the tool wants beside or instead of them. A tool that cannot be installed with lance-sql is skipped, with pip's reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.tools.catalog import TOOLS, Tool, table  # noqa: E402

SUPPORT = ROOT / "docs" / "support.md"
SECTION = re.compile(r"(?<=\| Tool \| Tried with \| How the scan takes part \|\n\|---\|---\|---\|\n)(?:\|.*\n)+")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def install(tool: Tool, folder: Path) -> str | None:
    """Makes the environment of a tool, if it is not there. Returns why that failed."""
    wanted = "\n".join(tool.requirements)
    stamp = folder / "requirements"
    if stamp.exists() and stamp.read_text() == wanted:
        return None
    venv.EnvBuilder(clear=True, symlinks=True).create(folder)
    paths = {"base": str(folder), "platbase": str(folder)}
    below = Path(sysconfig.get_path("purelib", "venv", paths)) / "below.pth"
    below.write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    if tool.requirements:
        # with lance-sql, whose own requirements then hold
        command = [*PIP, "--python", str(folder / "bin" / "python"), "install", "--quiet", "--only-binary", ":all:"]
        done = subprocess.run([*command, "lance-sql[duckdb]", *tool.requirements], capture_output=True, text=True)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
            return (said or done.stderr.splitlines() or ["pip failed"])[0].removeprefix("ERROR: ")
    stamp.write_text(wanted)
    return None


def passes(tool: Tool, folder: Path) -> str | None:
    """Runs the tests of a tool in its environment. Returns what they print if one fails, or none runs."""
    command = [str(folder / "bin" / "python"), "-P", "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "VIRTUAL_ENV": str(folder)}
    options = ["-m", "slow or not slow", *tool.node.split()]
    done = subprocess.run([*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode or not re.search(r"\b\d+ passed", done.stdout):
        return done.stdout[-8000:] + done.stderr[-2000:]
    return None


def main(arguments: list[str]) -> int:
    if arguments == ["--table"]:
        SUPPORT.write_text(SECTION.sub(lambda _: table(), SUPPORT.read_text(), count=1))
        return 0
    folder, named = Path(arguments[0]), arguments[1:]
    failed = False
    for tool in TOOLS:
        if tool.name not in named if named else tool.heavy:
            continue
        where = folder / tool.folder
        if reason := install(tool, where):
            print(f"{tool.name}: skipped: {reason}", flush=True)
        elif output := passes(tool, where):
            failed = True
            print(f"{tool.name}: failed\n{output}", flush=True)
        else:
            print(f"{tool.name}: {tool.version} passed", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
