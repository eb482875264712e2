"""Fixtures that every folder of tests may use.

corpus_case, corpus_negative: one run per case of the conformance corpus; skipped where there is no corpus. It is
looked for at $LANCE_SQL_CORPUS and at ../shared/corpus beside the checkout. `corpus_params` picks cases by name.

forks: starts commands in processes that have the library imported; one for all tests of a session.

spark: one session for all tests that need one, since it takes seconds to start; skipped where there is no Java.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import settings

from tests import durations, quick, scheduling
from tests.forked import Forks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How long an example takes depends on what else the machine does. Whoever changes something is to see what the change
# broke: examples are the same in every run, but for `--hypothesis-profile random`.
settings.register_profile("lance-sql", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("lance-sql")

CORPUS = Path(os.environ.get("LANCE_SQL_CORPUS") or Path(__file__).parents[2] / "shared" / "corpus")

_FOLDERS = {"corpus_case": "cases", "corpus_negative": "negative"}


@dataclass(frozen=True)
class Case:
    """A table of the corpus, and its description."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def info(self) -> dict[str, Any]:
        """The parsed case.json."""
        content: dict[str, Any] = json.loads((self.folder / "case.json").read_text())
        return content

    @cached_property
    def table(self) -> str:
        """Path of the table. One that holds absolute paths is copied to the place they mean."""
        folder = self.folder
        if self.info.get("stage_at"):
            folder = Path(self.info["stage_at"])
            if not folder.exists():
                folder.parent.mkdir(parents=True, exist_ok=True)
                with TemporaryDirectory(dir=folder.parent) as staging:
                    copy = shutil.copytree(self.folder, Path(staging) / folder.name)
                    # appears as a whole, since other processes look for it; one of them may have been first
                    with suppress(OSError):
                        copy.rename(folder)
        return str(folder / self.info.get("dataset", "data.lance"))

    def versions(self) -> list[tuple[str | None, dict[str, Any]]]:
        """Branch and description of every version that can be read."""
        on_main = [(None, version) for version in self.info["versions"]]
        on_branches = [
            (branch, version) for branch, versions in (self.info.get("branches") or {}).items() for version in versions
        ]
        return [entry for entry in on_main + on_branches if entry[1].get("expect") != "error"]

    def expected(self, version: dict[str, Any]) -> pa.Table | None:
        """The expected contents; None where only the number of rows is known."""
        if not version.get("expected"):
            return None
        with pa.memory_map(str(self.folder / version["expected"])) as file:
            return pa.ipc.open_file(file).read_all()


def corpus_params(kind: str, *prefixes: str, of_each_release: bool = False) -> list[Any]:
    """A parameter per case of "cases" or "negative" whose name starts with one of the prefixes."""
    folders = sorted(path.parent for path in (CORPUS / kind).glob("*/case.json"))
    cases = [Case(folder) for folder in folders if folder.name.startswith(prefixes)]
    if of_each_release:
        cases = quick.one_of_each_release(cases)
    reason = f"there is no corpus at {CORPUS}"
    none = pytest.param(None, marks=pytest.mark.skip(reason=reason), id="none")
    return [pytest.param(case, id=case.name) for case in cases] or [none]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lance-sql")
    group.addoption("--quick", action="store_true", help="leave out what takes long, such as all of Spark")
    group.addoption("--record-durations", action="store_true", help="store how long each test takes")


def pytest_configure(config: pytest.Config) -> None:
    # the process that hands out the tests gets the reports of all
    if config.getoption("record_durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(durations.Recorder())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if config.getoption("quick") and quick.is_outside(collection_path) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    few = metafunc.config.getoption("quick")
    for fixture, kind in _FOLDERS.items():
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, corpus_params(kind, "", of_each_release=few))


@pytest.fixture(scope="session", autouse=True)
def _unflushed() -> Iterator[None]:
    """Nothing waits for the disk: what tests write has to survive no crash of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _signals() -> Iterator[None]:
    """SIGINT as in a shell's foreground: what a script starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    with Forks() as started:
        yield started


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from tests.providers.spark_session import spark_session

    with spark_session() as session:
        yield session


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    return scheduling.scheduler(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("quick"):
        quick.select(config, items)
    # one process keeps the order of the files
    if hasattr(config, "workerinput"):
        scheduling.sort(items)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Reports the parts that were skipped for want of something on this machine, and where to read how to get it."""
    parts = missing_parts()
    if parts and not config.getoption("quick"):
        terminalreporter.write_line(f"Not tested, see docs/testing.md: {'; '.join(parts)}")


def missing_parts() -> list[str]:
    """Missing requirements of skipped tests."""
    parts = []
    if not CORPUS.is_dir():
        parts.append(f"tables of other writers (no corpus at {CORPUS})")
    if shutil.which("java") is None:
        parts.append("Spark (no Java)")
    if find_spec("pysail") is None:
        parts.append("Sail (make engines)")
    if find_spec("dbt") is None:
        parts.append("dbt (make engines)")
    if find_spec("opentelemetry") is None:
        parts.append("other tools (make engines)")
    return parts
