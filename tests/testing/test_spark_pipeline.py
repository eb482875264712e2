"""The tests of examples/spark_pipeline pass for its job, and report the faults of broken jobs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import lance_sql
from lance_sql.testing.plugin import LanceTables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PIPELINE = Path(__file__).parents[2] / "examples" / "spark_pipeline"


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the job wrote, that its tests look at."""
    folder = tmp_path / "lake"
    shutil.copytree(PIPELINE / "lake", folder)
    monkeypatch.setenv("LAKE", str(folder))
    return folder


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"pipeline_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_they_pass_without_java(lake: Path) -> None:
    environment = {**os.environ, "PATH": str(Path(sys.executable).parent), "JAVA_HOME": "/nowhere"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PIPELINE / "tests" / "test_lake.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "6 passed" in done.stdout, done.stdout


def lose_rows(lake: Path) -> None:
    lance_sql.open(lake / "orders.lance").delete("id IN (7, 8)")


def append_a_day_twice(lake: Path) -> None:
    orders = lance_sql.open(lake / "orders.lance")
    lance_sql.write(orders.scan(filter="id >= 10"), orders.uri, mode="append")


def forget_a_customer(lake: Path) -> None:
    lance_sql.open(lake / "customers.lance").delete("name = 'Fjord AS'")


def lose_names(lake: Path) -> None:
    lance_sql.open(lake / "orders.lance").update({"customer": "NULL"}, "id = 10")


def turn_a_sign(lake: Path) -> None:
    lance_sql.open(lake / "orders.lance").update({"amount": "-amount"}, "id = 11")


def keep_void_orders(lake: Path) -> None:
    orders = lance_sql.open(lake / "orders.lance", version=2).scan(filter="id = 5").to_table()
    lance_sql.write(orders, lake / "orders.lance", mode="append")


def write_all_anew(lake: Path) -> None:
    orders = lance_sql.open(lake / "orders.lance")
    lance_sql.write(orders.to_table(), orders.uri, mode="overwrite")


def shift_the_zone(lake: Path) -> None:
    lance_sql.open(lake / "orders.lance").update({"placed": "placed + INTERVAL 1 HOUR"}, "id = 1")


def forget_the_revenue(lake: Path) -> None:
    lance_sql.open(lake / "revenue.lance").restore(2)


def round_amounts(lake: Path) -> None:
    orders = lance_sql.open(lake / "orders.lance")
    rows = orders.to_table()
    amounts = rows["amount"].cast(pa.float64())
    lance_sql.write(rows.set_column(2, "amount", amounts), orders.uri, mode="overwrite")


def invent_a_status(lake: Path) -> None:
    lance_sql.open(lake / "orders.lance").update({"status": "'Paid'"}, "id = 9")


def rename_a_column(lake: Path) -> None:
    lance_sql.open(lake / "orders.lance").rename_columns({"placed": "ordered"})


FAULTS: dict[Callable[[Path], None], list[str]] = {
    lose_rows: ["not expected to be: id 7, 8", '-{"id": 7, "customer": "Elm Inc"', "1 not expected"],
    append_a_day_twice: ["(id) is not unique: 2 values are repeated: id=10 2 times; id=11 2 times"],
    forget_a_customer: ["customer: 1 value is not in name of", "'Fjord AS'"],
    lose_names: ["customer: 1 row is NULL"],
    turn_a_sign: ["amount > 0: 1 row breaks it, such as id=11"],
    keep_void_orders: ["inserted, but not expected to be: id 5", '+{"id": 5, "customer": "Dorn GmbH"'],
    write_all_anew: ["inserted, but not expected to be: id 1, 2", "deleted, but not expected to be: id 1, 2"],
    shift_the_zone: [
        "placed changed: id=1 had 2026-03-01 08:15:00+00:00, has 2026-03-01 09:15:00+00:00",
        '+{"id": 1, "customer": "Ada Ltd"',
    ],
    forget_the_revenue: [
        "1 missing",
        "customer='Fjord AS', orders=1, amount=150.00",
        "amount  310.20  expected 300.20",
    ],
    round_amounts: ["Its columns differ", '"amount": "double"'],
    invent_a_status: ["status IN ('open', 'paid', 'shipped'): 1 row breaks it", "status='Paid'"],
    rename_a_column: ["No column 'placed' in orders.lance version 4", "Its columns differ"],
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_errors_of_the_job_are_reported(lake: Path, tmp_path: Path, fault: Callable[[Path], None]) -> None:
    fault(lake)
    tests = module(PIPELINE / "tests" / "test_lake.py")
    tables = LanceTables(tmp_path, PIPELINE / "tests" / "snapshots" / "test_lake")
    failures = []
    calls: list[Callable[[], None]] = [
        tests.test_orders_keep_the_rules,
        tests.test_the_third_day_changed_what_the_shop_sent,
        lambda: tests.test_orders_are_as_they_were_when_somebody_looked(tables),
        tests.test_revenue_is_the_sum_of_paid_orders,
        lambda: tests.test_the_third_day_added_one_customer(tests.CUSTOMERS),
        lambda: tests.test_the_third_day_added_one_customer(tests.REVENUE),
    ]
    for call in calls:
        try:
            call()
        except Exception as error:
            failures.append(f"{type(error).__name__}: {error}")
    told = "\n".join(failures)
    for line in FAULTS[fault]:
        assert line in told


@pytest.mark.filterwarnings("ignore")
def test_the_job_writes_what_its_tests_expect(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its test, with the job in the session of the other tests: one of its own takes most of the time."""
    job, test = module(PIPELINE / "daily.py"), module(PIPELINE / "tests" / "test_daily.py")

    def run(command: list[object], *, check: bool) -> None:
        assert command[:2] == [sys.executable, PIPELINE / "daily.py"]
        assert check
        landing, lake, *days = map(str, command[2:])
        for day in days:
            job.run(spark, landing, lake, day)

    monkeypatch.setattr(test, "subprocess", SimpleNamespace(run=run))
    test.test_a_day_applied_twice_changes_nothing(tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_the_job_that_publishes_passes_its_test(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, with a day that breaks a rule."""
    monkeypatch.syspath_prepend(PIPELINE)
    job, test = module(PIPELINE / "checked.py"), module(PIPELINE / "tests" / "test_checked.py")

    def run(landing: Path, lake: Path, *days: str) -> SimpleNamespace:
        try:
            for day in days:
                job.run(spark, str(landing), str(lake), day)
        except lance_sql.ContractBroken as error:
            return SimpleNamespace(returncode=1, stderr=str(error))
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(test, "run", run)
    test.test_days_are_published_and_a_bad_one_is_held_back(tmp_path)


def test_changes_of_the_job_propagate(monkeypatch: pytest.MonkeyPatch) -> None:
    module(PIPELINE / "tests" / "test_checked.py").test_followers_make_run_by_run_what_one_run_makes(monkeypatch)


@pytest.mark.slow
def test_the_job_passes_its_tests_by_itself() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "tests/test_daily.py"]
    done = subprocess.run(command, cwd=PIPELINE, capture_output=True, text=True, check=False)
    if "1 skipped" in done.stdout:
        pytest.skip(next(line for line in done.stdout.splitlines() if "SKIPPED" in line))
    assert "1 passed" in done.stdout, done.stdout
