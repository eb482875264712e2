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


COPY = MODELS["copy"]
"""A model that consumes the changes of the cursor `copy`."""


def position() -> int:
    return lance_sql.open("orders.lance").cursors.open("copy").position


def change() -> None:
    table = lance_sql.open("orders.lance")
    lance_sql.write({"id": [9], "customer": ["new"], "amount": [1]}, "orders.lance", mode="append")
    table.update({"customer": "'bob'"}, "id = 2").delete("id = 1")


TIMED = """      - name: order_changes
        config: {event_time: _commit_timestamp}
"""


def test_a_source_without_a_target_goes_on(project: Path) -> None:
    """The run before died between the commit and the move of the cursor."""
    (project / "models/sources.yml").write_text(SOURCES.replace(", target: copy.lance", ""))
    dies = (
        "import os\nimport lance_sql.changes.cursors\nlance_sql.changes.cursors.Cursor._move = lambda *_: os._exit(9)"
    )
    dbt("run", "--select", "copy", succeeds=False, before=dies)
    dbt("run", "--select", "copy")
    assert (rows("copy.lance"), lance_sql.open("copy.lance").version) == (rows("orders.lance"), 2)
    lance_sql.open("orders.lance").delete("id = 1")
    dbt("run", "--select", "copy", succeeds=False, before=dies)
    lance_sql.open("orders.lance").delete("id = 2")
    assert "add target: copy.lance to the meta" in dbt("run", "--select", "copy", succeeds=False)
    (project / "models/sources.yml").write_text(SOURCES)
    dbt("run", "--select", "copy")
    assert rows("copy.lance") == rows("orders.lance")


SAMPLE = ("--sample", "{start: '2000-01-01', end: '2000-01-02'}")


@pytest.mark.parametrize(
    ("first", "later", "strategy"),
    [
        (("run", "--empty"), ("build", *SAMPLE), "apply_changes"),
        (("run", *SAMPLE), ("build", "--empty"), "append"),
        (("build", *SAMPLE), ("run", "--empty"), "overwrite"),
    ],
)
def test_a_run_with_a_part_of_the_rows_takes_no_changes(
    project: Path, first: tuple[str, ...], later: tuple[str, ...], strategy: str
) -> None:
    text = COPY.replace("strategy='apply_changes'", f"strategy='{strategy}'")
    if strategy != "apply_changes":
        text = text.replace("select *", "select id, customer, amount, _change_type as kind")
    (project / "models/copy.sql").write_text(text)
    (project / "models/sources.yml").write_text(SOURCES.replace("      - name: order_changes\n", TIMED))
    dbt(*first, "--select", "copy")
    assert rows("copy.lance") == []
    dbt("run", "--select", "copy")
    assert len(rows("copy.lance")) == 3
    change()
    before = (position(), rows("copy.lance"), lance_sql.open("copy.lance").version)
    dbt(*later, "--select", "copy")
    assert (position(), rows("copy.lance"), lance_sql.open("copy.lance").version) == before
    dbt("run", "--select", "copy")
    assert position() == lance_sql.open("orders.lance").version
    if strategy == "apply_changes":
        assert rows("copy.lance") == rows("orders.lance")
    else:
        kinds = lance_sql.open("copy.lance").to_table()["kind"].to_pylist()
        assert set(kinds) >= {"insert", "update_postimage", "delete"}


@pytest.mark.parametrize(("threads", "second"), [("1", "order_changes"), ("4", "same_changes")])
def test_two_models_of_one_cursor_are_refused(project: Path, threads: str, second: str) -> None:
    """Also if they read it by two sources."""
    source = "      - name: same_changes\n        meta: {plugin: lance, path: ./orders.lance, cursor: copy}\n"
    (project / "models/sources.yml").write_text(SOURCES + source)
    text = COPY.replace("copy.lance", "second.lance").replace("order_changes", second)
    (project / "models/second.sql").write_text(text)
    for selected in ("copy second", "second"):
        done = dbt("run", "--threads", threads, "--select", *selected.split(), succeeds=False)
        assert "Models copy and second consume the changes of one cursor 'copy'" in done
    assert not Path("copy.lance").exists()
    assert not Path("second.lance").exists()


def test_a_model_that_did_not_read_leaves_the_cursor(project: Path) -> None:
    """Others have read the changes in this run."""
    (project / "models/audit.sql").write_text(
        "{{ config(materialized='table') }} select * from {{ source('shop', 'order_changes') }}"
    )
    (project / "models/copy.sql").write_text(
        "-- depends_on: {{ ref('audit') }}\n"
        + COPY.replace("select *", "{% if var('reads', true) %} select *")
        + "{% else %} select 7::bigint as id, 'x' as customer, 1::bigint as amount, 'insert' as _change_type,"
        " 0::bigint as _commit_version, null as _commit_timestamp, 1 as _rowid {% endif %}"
    )
    dbt("run", "--select", "audit", "copy", "--vars", "{reads: false}")
    assert position() == 1
    assert rows("copy.lance") == [(7, "x", 1)]
    # a table of the run before
    change()
    # the snapshot, then the changes
    for _ in range(2):
        dbt("run", "--select", "audit", "copy")
    assert position() == lance_sql.open("orders.lance").version
    assert [row for row in rows("copy.lance") if row[0] != 7] == rows("orders.lance")


@pytest.mark.parametrize("between", ["ephemeral", "view"])
def test_changes_reach_a_model_by_another(project: Path, between: str) -> None:
    """Models that run before and after it see the same changes."""
    for name in ("staged", "before", "after"):
        kind = between if name == "staged" else "table"
        needs = "-- depends_on: {{ ref('copy') }}\n" if name == "after" else ""
        (project / f"models/{name}.sql").write_text(
            f"{needs}{{{{ config(materialized='{kind}') }}}} select * from {{{{ source('shop', 'order_changes') }}}}"
        )
    (project / "models/copy.sql").write_text(
        COPY.replace("source('shop', 'order_changes')", "ref('staged')") + "-- depends_on: {{ ref('before') }}"
    )
    for _ in range(2):
        dbt("run", "--select", "staged", "before", "copy", "after")
        assert rows("copy.lance") == rows("orders.lance")
        assert position() == lance_sql.open("orders.lance").version
        with lance_sql.connect("lake.duckdb") as connection:
            counts = connection.sql("SELECT (SELECT count(*) FROM before), (SELECT count(*) FROM after)").fetchall()
            assert counts[0][0] == counts[0][1] > 0
        change()
    if between != "ephemeral":
        # the table or view between them has the changes of the last run
        before = position(), rows("copy.lance")
        dbt("run", "--select", "before", "copy")
        assert position() == before[0]


def test_tables_have_cursors_of_their_own(project: Path) -> None:
    """Two tables have a cursor of the same name."""
    lance_sql.write({"id": [50], "customer": ["other"], "amount": [5]}, "others.lance")
    source = "      - name: other_changes\n        meta: {plugin: lance, path: others.lance, cursor: copy}\n"
    (project / "models/sources.yml").write_text(SOURCES + source)
    (project / "models/other.sql").write_text(
        COPY.replace("copy.lance", "other.lance").replace("order_changes", "other_changes")
    )
    dbt("run", "--select", "copy", "other", "--threads", "1")
    assert rows("copy.lance") == rows("orders.lance")
    assert rows("other.lance") == rows("others.lance")


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
        (
            "spent",
            "{{ config(materialized='lance', location='x.lance', incremental_strategy='delete+insert') }}"
            " select 1 as a",
            "'delete+insert' is not one of overwrite",
        ),
        (
            "spent",
            "{{ config(materialized='lance', location='x.lance', unique_key='a', merge_update_columns=['b']) }}"
            " select 1 as a, 2 as b",
            "merge_update_columns is not supported",
        ),
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


INCREMENTAL = """{{ config(materialized='lance', location='inc.lance', strategy='append') }}
    select id, amount from {{ source('shop', 'orders') }}
    {% if lance_sql.is_incremental() %} where id > (select max(id) from {{ this }}) {% endif %}"""


def test_incremental_models_have_each_row_once(project: Path) -> None:
    model = project / "models" / "inc.sql"
    model.write_text(INCREMENTAL)
    dbt("run", "--select", "inc")
    lance_sql.write({"id": [4], "customer": ["cy"], "amount": [7]}, "orders.lance", mode="append")
    dbt("run", "--select", "inc")
    assert rows("inc.lance") == [(1, 10), (2, 20), (3, 5), (4, 7)]
    assert [each.rows_inserted for each in lance_sql.open("inc.lance").history()] == [3, 1]
    # no row of a run with a part of the rows, and no loss of the others
    dbt("run", "--select", "inc", "spent", "--empty")
    assert len(rows("inc.lance")) == 4
    assert rows("spent.lance") == []
    # the view of the model is gone, so the model selects all rows
    os.remove("lake.duckdb")
    dbt("run", "--select", "inc", "spent")
    assert len(rows("inc.lance")) == 4
    dbt("run", "--select", "inc", "spent", "--empty")
    assert (len(rows("inc.lance")), len(rows("spent.lance"))) == (4, 3)
    lance_sql.open("inc.lance").delete("id = 1")
    dbt("run", "--select", "inc", "--full-refresh")
    assert len(rows("inc.lance")) == 4
    model.write_text(INCREMENTAL.replace("lance_sql.is", "is"))
    assert "write lance_sql.is_incremental()" in dbt("run", "--select", "inc", succeeds=False)
    assert len(rows("inc.lance")) == 4


def config(**options: object) -> str:
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    return f"{{{{ config(materialized='lance'{given}) }}}} "


def test_columns_keys_and_contracts(project: Path) -> None:
    """Each model has a second text, of a second run, and the rows after it or its error."""
    merged, appended = {"unique_key": "id"}, {"strategy": "append"}
    models: dict[str, tuple[str, str, list[tuple[Any, ...]] | str]] = {
        "nulls": (config(**merged) + "select 1 as id", config(**merged) + "select null::int as id", "NULL in 1 rows"),
        "fails": (config(**appended) + "select 1 as a", config(**appended) + "select 1 as a, 2 as b", "no such column"),
        "appends": (
            config(**appended) + "select 1 as a",
            config(on_schema_change="append_new_columns", **appended) + "select 3 as a, 2 as b",
            [(1, None), (3, 2)],
        ),
        "adds": (
            config(incremental_strategy="append") + "select 1 as id",
            config(incremental_strategy="append") + "select 2 as id",
            [(1,), (2,)],
        ),
        "asks": (
            config(unique_key="") + "select 1 as id {% if lance_sql.is_incremental() %} where false {% endif %}",
            config(unique_key=[]) + "select {% if lance_sql.is_incremental() %} 2 {% else %} 1 {% endif %} as id",
            [(1,), (2,)],
        ),
        "repeats": (
            config(unique_key=["id", "id"]) + "select 1 as id",
            config(unique_key=["id", "id"]) + "select 2 as id",
            [(1,), (2,)],
        ),
        "merges": (
            config(**merged) + "select 1 as id",
            config(on_schema_change="append_new_columns", **merged) + "select 1 as id, 2 as b",
            [(1, 2)],
        ),
        "syncs": (
            config(**appended) + "select 1 as a",
            config(on_schema_change="sync_all_columns", **appended) + "select 1 as a",
            "use append_new_columns",
        ),
        "agreed": (config() + "select 1 as a", config() + "select 'x' as a", "contract"),
    }
    (project / "models" / "contracts.yml").write_text(
        "models: [{name: agreed, config: {contract: {enforced: true}}, columns: [{name: a, data_type: integer}]}]"
    )
    for name, (text, _, _) in models.items():
        (project / "models" / f"{name}.sql").write_text(text)
    dbt("run", "--select", *models)
    for name, (_, text, _) in models.items():
        (project / "models" / f"{name}.sql").write_text(text)
    output = dbt("run", "--select", *models, succeeds=False)
    for name, (_, _, expected) in models.items():
        if isinstance(expected, str):
            assert expected in output
            expected = [(1,)]
        assert rows(f"{name}.lance") == expected, name
    (project / "snapshots").mkdir()
    (project / "snapshots" / "kept.sql").write_text(
        "{% snapshot kept %}{{ config(unique_key='customer', strategy='check', check_cols='all',"
        " target_schema='main') }} select customer, spent from {{ ref('spent') }}{% endsnapshot %}"
    )
    dbt("build", "--select", "spent", "kept")
    lance_sql.open("orders.lance").update({"amount": "99"}, "id = 2")
    dbt("build", "--select", "spent", "kept")
    with lance_sql.connect("lake.duckdb") as connection:
        kept = connection.sql("SELECT customer, spent, dbt_valid_to IS NULL FROM kept ORDER BY ALL").fetchall()
    assert kept == [("ada", 15, True), ("bo", 20, False), ("bo", 99, True)]
