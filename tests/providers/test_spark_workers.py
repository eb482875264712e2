"""Workers that cannot use the package, and errors of workers, in one line each."""

from __future__ import annotations

import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

import pytest

import lance_sql
from lance_sql.errors import ColumnNotFound, InvalidArgument, MissingDependency

pytest.importorskip("pyspark", reason='PySpark is not installed: pip install "lance-sql[spark]"')

from pyspark.sql import SparkSession

import lance_sql.spark
from lance_sql.providers.spark import errors as spark_errors
from lance_sql.providers.spark import workers
from lance_sql.providers.spark.options import ReadOptions

pytestmark = pytest.mark.filterwarnings("ignore")


def session(python: str) -> object:
    return SimpleNamespace(_sc=SimpleNamespace(pythonExec=python))


def test_workers_with_another_python_are_noticed(tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    with pytest.raises(MissingDependency, match=rf"{other}, which does not have .* PYSPARK_PYTHON={sys.executable}"):
        workers.check(session(str(other)))
    with pytest.raises(MissingDependency, match="'python9', which does not exist"):
        workers.check(session("python9"))
    same = tmp_path / "same"
    same.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    same.chmod(0o755)
    workers.check(session(str(same)))
    workers.check(session(sys.executable))
    # Spark Connect
    workers.check(SimpleNamespace())


def test_a_worker_needs_nothing_before_the_source() -> None:
    # those of the other tests begin with the library imported
    program = "import sys; sys.path.pop(0); from pyspark_lance import DefaultSource; print(DefaultSource.name())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "lance\n", done.stderr


def test_the_line_behind_an_error() -> None:
    text = "org.apache.spark.X: failed\n  File 'a.py'\nlance_sql.errors.ColumnNotFound: No column 'x'\n\n\tat java.Y"
    found = spark_errors.explained(RuntimeError(text))
    assert isinstance(found, ColumnNotFound)
    assert str(found) == "No column 'x'"
    missing = spark_errors.explained(RuntimeError("ModuleNotFoundError: No module named 'lance_sql'\n\tat java"))
    assert isinstance(missing, MissingDependency)
    assert spark_errors.explained(RuntimeError("something else")) is None
    with pytest.raises(RuntimeError, match="something else"), spark_errors.short_errors():
        raise RuntimeError("something else")
    with pytest.raises(InvalidArgument, match="ours"), spark_errors.short_errors():
        raise InvalidArgument("ours")


def test_errors_of_jobs_are_one_line(spark: SparkSession, tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    frame = spark.read.format("lance").load(made.uri)
    (name,) = (tmp_path / "t.lance" / "data").iterdir()
    name.unlink()
    with pytest.raises(lance_sql.CorruptFile, match="the file is missing") as caught, lance_sql.spark.short_errors():
        frame.collect()
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "path", "message"),
    [
        ({}, "nothere.lance", "lance_sql.errors.TableNotFound: No Lance table at"),
        (
            {"versoin": "3"},
            "t.lance",
            "lance_sql.errors.InvalidArgument: The format lance has no option 'versoin'",
        ),
        ({"version": "audted"}, "t.lance", "lance_sql.errors.VersionNotFound: No tag or branch 'audted' in t.lance"),
        ({"readChangeFeed": "true", "startingVersion": "6"}, "t.lance", "lance_sql.errors.VersionNotFound: "),
    ],
)
def test_spark_s_own_exceptions_are_one_line_as_well(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], path: str, message: str
) -> None:
    lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    lance_sql.register(spark)
    with pytest.raises(Exception, match=r"lance_sql\.errors\.") as caught:
        spark.read.format("lance").options(**options).load(str(tmp_path / path)).collect()
    if type(caught.value).__module__ == "pyspark.errors.exceptions.captured":
        assert str(caught.value).startswith(message)
        assert len(str(caught.value).splitlines()) == 1
        assert "Traceback" not in "".join(traceback.format_exception(caught.value)[1:])
    found = spark_errors.explained(caught.value)
    assert f"lance_sql.errors.{type(found).__name__}: {found}".startswith(message)


def test_the_check_of_a_server_reads_an_option_only() -> None:
    with pytest.raises(InvalidArgument, match="partitions"):
        ReadOptions({"path": "nowhere", "partitions": "no number"})
