"""dbt runs over Lance tables: sources, models, and changes that are consumed once.

dbt is not in the environment of the other tests; `make engines` has it in a folder of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lance_sql

pytest.importorskip("dbt.adapters.duckdb", reason="dbt-duckdb is not on the path")

PROJECT = """
name: shop
version: 1.0.0
config-version: 2
profile: shop
model-paths: [models]
"""
PROFILE = """
shop:
  target: dev
  outputs:
    dev:
      type: duckdb
      path: lake.duckdb
      plugins:
        - module: lance_sql.providers.dbt
          alias: lance
"""
SOURCES = """
sources:
  - name: shop
    schema: shop
    tables:
      - name: orders
        meta: {plugin: lance, path: orders.lance}
      - name: first_orders
        meta: {plugin: lance, path: orders.lance, version: 1}
      - name: order_changes
        meta: {plugin: lance, path: orders.lance, cursor: copy, start: snapshot, target: copy.lance}
"""
MODELS = {
    "spent": """{{ config(materialized='lance', location='spent.lance') }}
        select customer, sum(amount)::bigint as spent from {{ source('shop', 'orders') }} group by customer""",
    "known": """{{ config(materialized='lance', location='known.lance', unique_key='customer') }}
        select customer, count(*) as orders from {{ source('shop', 'orders') }} group by customer""",
    "log": """{{ config(materialized='lance', location='log.lance', strategy='append') }}
        select count(*) as rows, (select count(*) from {{ source('shop', 'first_orders') }}) as first
        from {{ source('shop', 'orders') }}""",
    "copy": """{{ config(materialized='lance', location='copy.lance', cursor='copy', strategy='apply_changes',
            unique_key='id', sequence_by='_commit_version', delete_when="_change_type = 'delete'",
            except_columns=['_change_type', '_commit_version', '_commit_timestamp', '_rowid']) }}
        select * from {{ source('shop', 'order_changes') }} where _change_type <> 'update_preimage'""",
    "rich": "select customer from {{ ref('spent') }} where spent > 15",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    package = subprocess.run(
        [sys.executable, "-m", "lance_sql.providers.dbt"], capture_output=True, text=True, check=True
    )
    (tmp_path / "models").mkdir()
    files = {
        "dbt_project.yml": PROJECT,
        "profiles.yml": PROFILE,
        "packages.yml": f"packages: [{{local: '{package.stdout.strip()}'}}]",
        "models/sources.yml": SOURCES,
        **{f"models/{name}.sql": text for name, text in MODELS.items()},
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    lance_sql.write({"id": [1, 2, 3], "customer": ["ada", "bo", "ada"], "amount": [10, 20, 5]}, "orders.lance")
    dbt("deps")
    return tmp_path


def dbt(*arguments: str, succeeds: bool = True, before: str = "") -> str:
    code = f"{before}\nfrom dbt.cli.main import cli\ncli()"
    environment = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "NO_COLOR": "1"}
    command = [sys.executable, "-c", code, *arguments, "--profiles-dir", "."]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert (done.returncode == 0) == succeeds, done.stdout
    return done.stdout


def rows(path: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in lance_sql.open(path).scan().to_table().to_pylist())


def test_models_are_versions_of_lance_tables(project: Path) -> None:
    dbt("run")
    assert rows("spent.lance") == [("ada", 15), ("bo", 20)]
    assert rows("known.lance") == [("ada", 2), ("bo", 1)]
    assert rows("copy.lance") == rows("orders.lance")
    lance_sql.open("orders.lance").delete("customer = 'ada'").update({"amount": "99"}, "id = 2")
    dbt("run")
    assert rows("spent.lance") == [("bo", 99)]
    assert rows("known.lance") == [("ada", 2), ("bo", 1)]
    assert rows("log.lance") == [(1, 3), (3, 3)]
    assert rows("copy.lance") == rows("orders.lance") == [(2, "bo", 99)]
    with lance_sql.connect("lake.duckdb") as connection:
        assert connection.sql("FROM rich").fetchall() == [("bo",)]
    before = lance_sql.open("copy.lance").version
    dbt("run", "--select", "copy")
    assert lance_sql.open("copy.lance").version == before


def test_changes_are_taken_once_whatever_dies(project: Path) -> None:
    dies = (
        "import os\nimport lance_sql.changes.cursors\nlance_sql.changes.cursors.Cursor._move = lambda *_: os._exit(9)"
    )
    dbt("run", "--select", "copy", succeeds=False, before=dies)
    assert (rows("copy.lance"), lance_sql.open("copy.lance").version) == (rows("orders.lance"), 2)
    dbt("run", "--select", "copy")
    assert (rows("copy.lance"), lance_sql.open("copy.lance").version) == (rows("orders.lance"), 2)
    lance_sql.open("orders.lance").delete("id = 1")
    dies = "import os\nimport lance_sql.providers.dbt\nlance_sql.providers.dbt.Plugin._write = lambda *_: os._exit(9)"
    dbt("run", "--select", "copy", succeeds=False, before=dies)
    dbt("run", "--select", "copy")
    assert rows("copy.lance") == rows("orders.lance")


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        (
            "spent",
            "{{ config(materialized='lance', location='x.lance', strategy='merge') }} select 1 as a",
            "unique_key",
        ),
        ("spent", "{{ config(materialized='lance', location='x.lance', strategy='swap') }} select 1 as a", "overwrite"),
        ("spent", "{{ config(materialized='lance', location='x.lance', cursor='other') }} select 1 as a", "no source"),
        ("sources", SOURCES.replace("version: 1", "versoin: 1"), "unknown meta 'versoin'"),
        ("sources", SOURCES.replace("path: orders.lance, version: 1", "version: 1"), "has no path"),
        ("sources", SOURCES.replace("version: 1", "version: 41"), "41"),
    ],
)
def test_mistakes_are_named(project: Path, name: str, text: str, error: str) -> None:
    path = project / "models" / (f"{name}.sql" if name != "sources" else "sources.yml")
    path.write_text(text)
    model = "log" if name == "sources" else name
    assert error in dbt("run", "--select", model, succeeds=False)
    assert not Path("x.lance").exists()
