"""Recipes of docs/frames.md for tools that are not in the environment of the other tests."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest

import lance_sql

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(r"```text\n(.*?)```", (ROOT / "docs" / "frames.md").read_text(), re.DOTALL)


def run(module: str, caplog: pytest.LogCaptureFixture) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Runs the recipe of a module; returns its variables, and the facts of its scans."""
    pytest.importorskip(module, reason=f"{module} is not on the path")
    (block,) = [each for each in BLOCKS if f"{module}." in each]
    names: dict[str, Any] = {"orders": lance_sql.open(ROOT / "examples" / "orders.lance")}
    exec(f"import {module}", names)
    with caplog.at_level(logging.DEBUG, "lance_sql"):
        exec(block, names)
    return names, [vars(each)["facts"] for each in caplog.records if vars(each).get("operation") == "scan"]


def test_dask_reads_a_partition_for_each_task(caplog: pytest.LogCaptureFixture) -> None:
    names, scans = run("dask.dataframe", caplog)
    expected = lance_sql.sql(
        f"SELECT status, count(*) FROM '{names['orders'].uri}' WHERE id > 100 GROUP BY status"
    ).fetchall()
    assert sorted(names["counts"].items()) == sorted(expected)
    assert {(*each["columns"],) for each in scans} == {("id", "status")}


def test_narwhals_passes_columns_and_conditions(caplog: pytest.LogCaptureFixture) -> None:
    names, scans = run("narwhals", caplog)
    assert len(names["found"]) == names["orders"].count_rows("status = 'open'")
    assert [each["filter"] for each in scans] == ["status = 'open'"]
    assert set(scans[0]["columns"]) == {"id", "status"}


def test_pandera_validates_a_lazy_frame(caplog: pytest.LogCaptureFixture) -> None:
    names, scans = run("pandera.polars", caplog)
    assert names["valid"].height == names["orders"].count_rows()
    assert {(*each["columns"],) for each in scans} == {("id",)}


def test_geopandas_keeps_geometries_and_their_system() -> None:
    pytest.importorskip("geopandas", reason="geopandas is not on the path")
    (block,) = [each for each in BLOCKS if each.startswith("import geopandas")]
    names: dict[str, Any] = {"lance_sql": lance_sql}
    exec(block, names)
    found = names["found"]
    assert (found.crs.to_epsg(), found.geometry.x.tolist(), found.geometry.y.tolist()) == (4326, [2.0], [3.0])
