"""The tools of docs/frames.md, if they are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars
import pytest

import lance_sql
from lance_sql.errors import InvalidArgument
from tests.documents import ROOT

ORDERS = str(ROOT / "examples" / "orders.lance")


def test_polars_pushes_columns_and_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = lance_sql.open(ORDERS)
    asked: list[dict[str, Any]] = []
    scanner = type(orders).scanner

    def recorded(self: lance_sql.Dataset, **arguments: Any) -> Any:
        asked.append(arguments)
        return scanner(self, **arguments)

    monkeypatch.setattr(type(orders), "scanner", recorded)
    lazy = polars.scan_pyarrow_dataset(orders).filter(polars.col("status") == "open", polars.col("id") > 100)
    found = lazy.select("id").collect()
    expected = orders.scan(["id"], "status = 'open' AND id > 100").to_table()["id"].to_pylist()
    assert found["id"].to_list() == expected
    (arguments,) = asked
    assert "customer" not in arguments["columns"]
    assert "status" in str(arguments["filter"])
    assert "100" in str(arguments["filter"])


@pytest.mark.parametrize("of", [lambda scan: scan, lambda scan: scan.tasks(1)[0]], ids=["scan", "task"])
def test_a_scan_and_a_task_are_taken_where_a_table_is(tmp_path: Path, of: Any) -> None:
    table = lance_sql.write({"id": [1, 2, 3], "v": [1, 2, 3]}, tmp_path / "t.lance")
    source = of(table.scan(["id", "v"], "id > 1"))
    copy = lance_sql.write(source, tmp_path / "copy.lance")
    assert copy.append(source).count_rows() == 4
    assert copy.latest().merge(source, "v", when_not_matched="ignore").count_rows() == 4
    assert lance_sql.apply_changes(tmp_path / "applied.lance", source, "id").count_rows() == 2
    assert polars.DataFrame(source).height == 2
    connection = lance_sql.connect()
    assert connection.execute("SELECT count(*) FROM source").fetchall() == [(2,)]
    assert connection.sql("SELECT sum(v) FROM source").fetchall() == [(5,)]
    with pytest.raises(InvalidArgument, match="not the path of a table"):
        lance_sql.register(connection, "x", source)
