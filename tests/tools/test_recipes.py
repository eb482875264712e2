"""Recipes of the documents for other tools: each runs as it stands, and its scans read no more than the page says.

Most of the tools are not in the environment of the other tests; `make engines` has an environment for each.
"""

from __future__ import annotations

import logging
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from lance_sql.providers.duckdb.protocol import has_sources
from tests.documents import ROOT

# of the tools, which warn of their own old ways
pytestmark = pytest.mark.filterwarnings("default")

PAGES = ("frames.md", "sql-tools.md", "pipelines.md", "machine-learning.md")
Facts = list[dict[str, Any]]
Run = Callable[..., tuple[dict[str, Any], Facts]]


def blocks(heading: str) -> list[str]:
    """The blocks below a heading that no other test of the documents runs."""
    pages = ((ROOT / "docs" / page).read_text() for page in PAGES)
    (section,) = [each for page in pages for each in re.split("^## ", page, flags=re.M) if each.startswith(heading)]
    return re.findall(r"```text\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Run:
    """Runs a recipe in a folder with `orders.lance`; returns its variables, and the facts of its scans."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples" / "orders.lance", "orders.lance")

    def recipe(heading: str, *modules: str, number: int = 0) -> tuple[dict[str, Any], Facts]:
        for module in modules:
            pytest.importorskip(module, reason=f"{module} is not on the path: make engines")
        # tools look for the source of functions
        (tmp_path / "recipe.py").write_text(blocks(heading)[number])
        with caplog.at_level(logging.DEBUG, "lance_sql"):
            names = runpy.run_path("recipe.py", {"lance_sql": lance_sql})
        return names, [vars(each)["facts"] for each in caplog.records if vars(each).get("operation") == "scan"]

    return recipe


def ids(where: str) -> list[int]:
    return sorted(lance_sql.open("orders.lance").scan(["id"], where).to_table()["id"].to_pylist())


def read(scans: Facts) -> set[tuple[tuple[str, ...], str | None]]:
    return {((*each["columns"],), each.get("filter")) for each in scans}


def columns(scans: Facts) -> set[tuple[str, ...]]:
    """Of scans whose filter DuckDB 2.0 may evaluate itself."""
    return {(*each["columns"],) for each in scans}


OPEN = "status = 'open'"
LATE = {(("id", "status"), "id > 100")}
"""What scans of two columns read, with a filter of their own."""


def test_narwhals(run: Run) -> None:
    names, scans = run("narwhals", "narwhals")
    assert sorted(names["found"]["id"].to_list()) == ids(OPEN)
    assert [each["filter"] for each in scans] == [OPEN]
    assert set(scans[0]["columns"]) == {"id", "status"}


def test_dask(run: Run) -> None:
    names, scans = run("dask", "dask", "pandas")
    assert names["counts"]["open"] == len(ids(f"id > 100 AND {OPEN}"))
    assert read(scans) == LATE
    assert len(scans) == len(names["scan"].tasks(8))


def test_daft(run: Run) -> None:
    names, scans = run("Daft", "daft")
    assert sorted(names["table"].to_table(["id"])["id"].to_pylist()) == ids(f"id > 100 AND {OPEN}")
    assert read(scans) == LATE


def test_geopandas(run: Run) -> None:
    names, _ = run("GeoPandas", "geopandas")
    found = names["found"]
    assert (found.crs.to_epsg(), found.geometry.x.tolist(), found.geometry.y.tolist()) == (4326, [2.0], [3.0])


def test_sqlalchemy(run: Run) -> None:
    names, scans = run("SQLAlchemy", "sqlalchemy", "duckdb_engine")
    assert names["found"] == len(ids(OPEN))
    assert columns(scans) == {("status",)}
    engine, text = names["engine"], names["text"]

    def count(_: int) -> Any:
        with engine.connect() as session:
            query = "SELECT count(*) FROM 'orders.lance' WHERE status = :status"
            return session.execute(text(query), {"status": "open"}).scalar()

    with ThreadPoolExecutor(16) as threads:
        assert set(threads.map(count, range(64))) == {104}
    if not has_sources():
        return
    change = text("DELETE FROM 'orders.lance' WHERE id = 1")
    with pytest.raises(InvalidArgument, match="ROLLBACK"), engine.begin() as session:
        session.execute(change)
    exec(blocks("SQLAlchemy")[1], names)
    with engine.begin() as session:
        session.execute(change)
    assert lance_sql.open("orders.lance").count_rows() == 369


def test_ibis(run: Run) -> None:
    import duckdb

    if not hasattr(duckdb.DuckDBPyConnection, "fetch_arrow_table"):
        pytest.skip("Ibis 12 needs DuckDB 1.5")
    names, scans = run("Ibis", "ibis")
    assert sorted(names["found"]["id"].to_list()) == ids(OPEN)
    assert (set(scans[-1]["columns"]), scans[-1]["filter"]) == ({"id", "status"}, OPEN)
    old = names["backend"].sql("FROM lance_scan('orders.lance', version := 6)").count().execute()
    assert old == lance_sql.open("orders.lance").at(6).count_rows() != 370


def test_sqlframe(run: Run) -> None:
    names, scans = run("SQLFrame", "sqlframe")
    assert sorted(names["found"]["id"].to_pylist()) == ids(OPEN)
    assert columns(scans) == {("id", "status")}


def test_adbc(run: Run) -> None:
    names, scans = run("ADBC", "adbc_driver_duckdb", "adbc_driver_manager")
    assert sorted(names["table"].to_table()["id"].to_pylist()) == ids(f"id > 100 AND {OPEN}")
    assert read(scans) == LATE


def test_flight(run: Run) -> None:
    names, scans = run("Flight", "pyarrow.flight")
    assert sorted(names["rows"]["id"].to_pylist()) == ids("id < 5")
    assert columns(scans) == {("id",)}


def test_jupysql(run: Run) -> None:
    for module in ("sql", "IPython"):
        pytest.importorskip(module, reason=f"{module} is not on the path: make engines")
    pytest.importorskip("sql.magic")
    from IPython.core.interactiveshell import InteractiveShell  # type: ignore[import-not-found]

    session = InteractiveShell.instance()
    session.user_ns["lance_sql"] = lance_sql
    assert session.run_cell(blocks("JupySQL")[0]).success
    result = session.run_cell_magic("sql", "", "SELECT count(*) AS n FROM 'orders.lance'")
    assert "370" in str(result)


def test_marimo(run: Run) -> None:
    names, scans = run("marimo", "marimo")
    _, defined = names["app"].run()
    assert sorted(defined["found"]["id"].to_list()) == ids(OPEN)
    assert scans == []


def test_streamlit(run: Run) -> None:
    pytest.importorskip("streamlit", reason="streamlit is not on the path: make engines")
    from streamlit.testing.v1 import AppTest  # type: ignore[import-not-found]

    Path("page.py").write_text(blocks("Streamlit")[0])
    page = AppTest.from_file(str(Path("page.py").resolve())).run(timeout=60)
    assert not page.exception
    assert sorted(page.dataframe[0].value["id"]) == ids(OPEN)
    assert sorted(page.selectbox[0].select("paid").run().dataframe[0].value["id"]) == ids("status = 'paid'")


def test_dagster(run: Run) -> None:
    names, scans = run("Dagster", "dagster")
    assert names["result"].success
    assert read(scans) == {(("id", "customer"), OPEN), (("customer",), "id > 100")}
    (entry,) = lance_sql.open("customers.lance").history()
    assert entry.job == names["result"].run_id
    (made,) = names["result"].asset_materializations_for_node("customers")
    assert made.metadata["rows"].value == lance_sql.open("customers.lance").count_rows()


def test_prefect(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.setenv("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "180")
    names, _ = run("Prefect", "prefect")
    assert names["found"] == (104, 104)
    assert lance_sql.open("open.lance").version == 1


def test_airflow(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("airflow.sdk", reason="airflow is not on the path: make engines")
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "nightly.py").write_text("import lance_sql\n" + blocks("Airflow")[0])
    environment = {
        **os.environ,
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "pipelines"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    # the second run of a day writes nothing
    for command in ("db migrate", *["dags test nightly 2026-01-01"] * 2):
        subprocess.run([sys.executable, "-P", "-m", "airflow", *command.split()], env=environment, check=True)
    table = lance_sql.open("open.lance")
    assert sorted(table.to_table(["id"])["id"].to_pylist()) == ids(OPEN)


def test_dlt(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path / "dlt"))
    _, scans = run("dlt", "dlt")
    assert read(scans) == {(("id", "status"), OPEN)}
    with duckdb.connect("shop.duckdb") as connection:
        found = connection.execute("SELECT id FROM lake.open_orders ORDER BY id").fetchall()
    assert [number for (number,) in found] == ids(OPEN)
    assert lance_sql.open("items.lance").to_table(["id"])["id"].to_pylist() == [1, 2]


def test_deltalake(run: Run) -> None:
    names, scans = run("Delta and Iceberg", "deltalake")
    assert sorted(names["table"].to_table(["id"])["id"].to_pylist()) == sorted(ids("id > 100"))
    assert read(scans) == LATE


def test_pyiceberg(run: Run) -> None:
    names, scans = run("Delta and Iceberg", "pyiceberg", number=1)
    assert sorted(names["table"].to_table(["id"])["id"].to_pylist()) == ids(f"id > 100 AND {OPEN}")
    assert read(scans) == LATE


def test_great_expectations(run: Run) -> None:
    names, scans = run("Great Expectations", "great_expectations")
    assert names["found"].success
    assert read(scans) == {(("id",), OPEN)}


def test_pandera(run: Run) -> None:
    names, scans = run("pandera", "pandera")
    assert names["valid"].height == 370
    assert columns(scans) == {("id",)}


def test_datacompy(run: Run) -> None:
    names, scans = run("datacompy", "datacompy")
    difference = lance_sql.diff("orders.lance@5", "orders.lance@6", key="id")
    assert names["compared"].df2_unq_rows.height == difference.inserted.num_rows == 12
    assert columns(scans[:2]) == {("id", "status")}


def test_chispa(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("java") is None:
        pytest.skip("needs Java")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    names, _ = run("chispa", "chispa")
    different = names["found"].selectExpr("id + 1 AS id", "status")
    with pytest.raises(Exception, match="df1"):
        names["assert_df_equality"](different, names["expected"], ignore_nullable=True)
    names["spark"].stop()


def test_pytorch(run: Run) -> None:
    names, _ = run("PyTorch", "torch")
    assert names["total"] == sum(ids("id > 100"))
    assert [int(each.sum()) for each in names["Rows"](names["tasks"])] != []


def test_ray_data(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    names, _ = run("Ray Data", "ray")
    assert sorted(names["table"].to_table(["id"])["id"].to_pylist()) == ids("id > 100")
    names["ray"].shutdown()


def test_hugging_face_datasets(run: Run) -> None:
    names, scans = run("Hugging Face datasets", "datasets")
    assert sorted(names["table"].to_table(["id"])["id"].to_pylist()) == ids(f"id > 100 AND {OPEN}")
    assert sorted(row["id"] for row in names["streamed"]) == ids("id > 100")
    assert names["streamed"].num_shards == len(names["scan"].tasks(8))
    assert read(scans) == LATE


def test_lancedb(run: Run) -> None:
    names, _ = run("LanceDB", "lancedb")
    assert [row["id"] for row in names["nearest"]] == [5]
    assert lance_sql.open("items.lance").to_table(["id"])["id"].to_pylist() == [5, 6, 7, 8, 9, 99]
    kinds = names["changed"]["_change_type"].to_pylist()
    assert (kinds.count("delete"), kinds.count("insert")) == (5, 1)
