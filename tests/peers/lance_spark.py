"""Runs the integration tests of lance-spark through `lance_sql.sql`, with a session that has the methods they call.

    python -m tests.peers.lance_spark path/to/test_lance_spark.py

The file is integration-tests/test_lance_spark.py of github.com/lance-format/lance-spark. Names of its catalog, such as
default.employees, become paths; all other words stay. DuckDB runs the statements, in Spark's dialect. A step is a
statement or a write of a frame. It is `equal` if the test goes on after it, `refused` for an error of this library
which the test does not expect, and `different` if an assertion about it fails. `summary` is one that did its work, and
whose test then asks for a column of the summary that ours lacks. The texts of expected errors are not compared.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import LanceError

_NAME = re.compile(r"\b(?:\w+\.)?default\.(\w+)\b")
_EXPECTED = re.compile(r"(pytest\.raises\(Exception), match=r?\"[^\"]*\"\)")
_COLUMNS = {
    "tableName": "name",
    "col_name": "column",
    "data_type": "type",
    "bytes_removed": "bytes",
    "old_versions": "versions",
}
"""Our names of columns of summaries and metadata, by those of lance-spark."""
_OWN = ("operation", "path", "column", "name")
"""The first columns of our summaries and metadata."""
_OF_ENGINE = re.compile(r"\s*CREATE\s+(TEMPORARY|TEMP)\s+VIEW\b", re.IGNORECASE)


@dataclass
class Step:
    """A step of a test, and what became of it."""

    test: str
    text: str
    kind: str = "equal"
    detail: str = ""


class Session:
    """The part of a SparkSession that the tests use.

    steps: those of all tests, in order
    """

    _lance_backend = "local"

    def __init__(self, folder: Path, test: str, steps: list[Step]) -> None:
        self.folder, self.test, self.steps = folder, test, steps
        self.connection = lance_sql.connect()
        self.frames = 0

    def sql(self, text: str) -> Frame:
        return self._step(text, self.path(text))

    def table(self, name: str) -> Frame:
        return Frame(self, self._run(f"SELECT * FROM {self.path(name)}"))

    def createDataFrame(self, data: Any, schema: Any) -> Frame:  # noqa: N802
        if not isinstance(schema, list):
            from pyspark.sql.pandas.types import to_arrow_schema

            arrow = to_arrow_schema(schema)
            columns = [
                pa.array(values, field.type) for values, field in zip(zip(*data, strict=True), arrow, strict=True)
            ]
            return Frame(self, pa.Table.from_arrays(columns, schema=arrow))
        return Frame(self, pa.table(dict(zip(schema, map(list, zip(*data, strict=True)), strict=True))))

    def path(self, text: str) -> str:
        """Returns a text with paths for names of the catalog."""
        named = _NAME.sub(rf"'{self.folder}/\1.lance'", text).replace("IN default", f"IN '{self.folder}'")
        # the high 32 bits of _rowaddr, which every view of theirs selects as well
        return named.replace("_fragid, ", "").replace("_fragid,\n", "\n")

    def insert(self, rows: pa.Table, name: str) -> None:
        self.frames += 1
        view = f"frame{self.frames}"
        self.connection.register(view, rows)
        text = f"INSERT INTO {name} SELECT * FROM {view}"
        self._step(f"frame: {text}", self.path(text))

    def _step(self, named: str, text: str) -> Frame:
        step = Step(self.test, " ".join(named.split()))
        self.steps.append(step)
        try:
            if _OF_ENGINE.match(text):
                self.connection.execute(text)
                return Frame(self, pa.table({}))
            return Frame(self, self._run(text))
        except Exception as error:
            step.kind = "refused" if isinstance(error, LanceError) else "different"
            step.detail = str(error)
            raise

    def _run(self, text: str) -> pa.Table:
        result = lance_sql.sql(text, connection=self.connection, dialect="spark", all_rows=True)
        return result.to_table()


class OtherColumnError(AssertionError):
    """A column of a summary of lance-spark that ours lacks."""


class Row:
    """A row; the columns of one about a statement or a table have names of their own."""

    def __init__(self, row: dict[str, Any]) -> None:
        self._row = row
        self._is_summary = next(iter(row), "") in _OWN

    def __getattr__(self, name: str) -> Any:
        own = _COLUMNS.get(name, name) if self._is_summary else name
        if self._is_summary and own not in self._row:
            raise OtherColumnError(f"{name} is not among {', '.join(self._row)}")
        return self._row[own]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int) and self._is_summary:
            raise OtherColumnError(f"column {key} of {', '.join(self._row)}")
        return [*self._row.values()][key] if isinstance(key, int) else getattr(self, key)


class Frame:
    """The part of a DataFrame that the tests use."""

    def __init__(self, session: Session, rows: pa.Table) -> None:
        self.session, self.rows = session, rows

    def collect(self) -> list[Any]:
        return [Row(row) for row in self.rows.to_pylist()]

    def count(self) -> int:
        return int(self.rows.num_rows)

    def orderBy(self, column: str) -> Frame:  # noqa: N802
        return Frame(self.session, self.rows.sort_by(column))

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802
        self.session.connection.register(name, self.rows)

    def writeTo(self, name: str) -> Writer:  # noqa: N802
        return Writer(self, name)

    @property
    def schema(self) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.rows.schema)


@dataclass
class Writer:
    """The result of `writeTo`."""

    frame: Frame
    name: str

    def append(self) -> None:
        self.frame.session.insert(self.frame.rows, self.name)


class Plugin:
    """The fixtures of the tests, and the record of their steps."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.outcomes: Counter[str] = Counter()

    @pytest.fixture
    def spark(self, request: pytest.FixtureRequest, tmp_path: Path) -> Session:
        return Session(tmp_path, request.node.nodeid.rpartition("::")[2], self.steps)

    @pytest.fixture
    def test_table(self) -> str:
        return "default.of_test"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        before = len(self.steps)
        try:
            result = yield
        except pytest.skip.Exception:
            raise
        except BaseException as error:
            own = self.steps[before:]
            if own and own[-1].kind == "equal":
                own[-1].kind = "summary" if isinstance(error, OtherColumnError) else "different"
                own[-1].detail = " ".join(str(error).split())
            raise
        for step in self.steps[before:]:
            # the test expects the errors
            step.kind = "equal"
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.skipped:
            self.outcomes[report.outcome] += 1


def run(file: Path) -> Plugin:
    """Runs the tests of a copy of the file, without its conftest."""
    plugin = Plugin()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "test_lance_spark.py"
        copy.write_text(_EXPECTED.sub(r"\1)", file.read_text()))
        options = [
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "--disable-plugin-autoload",
            "--rootdir",
            folder,
            "-c",
            "/dev/null",
        ]
        pytest.main([*options, "--tb=no", "--disable-warnings", "-W", "ignore", str(copy)], [plugin])
    return plugin


def main() -> None:
    """Prints the steps that are not equal, and the counts."""
    plugin = run(Path(sys.argv[1]).resolve())
    for step in plugin.steps:
        if step.kind != "equal":
            print(f"{step.test}: {step.kind}: {step.text[:200]}\n    {step.detail[:300]}")
    print(dict(plugin.outcomes), dict(Counter(step.kind for step in plugin.steps)), len(plugin.steps))


if __name__ == "__main__":
    main()
