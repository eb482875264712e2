"""Lazy frames of Polars over a version: the rows of Polars over Parquet, with conditions that the scan applies."""

from __future__ import annotations

import datetime as dt
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.reads import polars_source
from lance_sql.reads.scan.predicates import Predicate

ROWS = 400
UTC = dt.UTC
c = pl.col


def every(nth: int, values: list[Any]) -> list[Any]:
    """The values in turn, with a NULL at each nth row."""
    return [None if row % nth == 0 else values[row % len(values)] for row in range(ROWS)]


def frame() -> pl.DataFrame:
    moments = [dt.datetime(2023 + month // 12, month % 12 + 1, 1, 12, microsecond=month) for month in range(30)]
    floats = [0.0, -0.0, 1.5, float("nan"), float("inf"), -2.25, 0.1]
    return pl.DataFrame(
        {
            "i": every(7, [*range(-5, 60)]),
            "small": pl.Series(every(11, [*range(-5, 60)]), dtype=pl.Int8),
            "large": pl.Series(every(13, [2**63, 2**53 + 1, 2**53, 7]), dtype=pl.UInt64),
            "f": every(5, floats),
            "g": pl.Series(every(5, floats), dtype=pl.Float32),
            "s": every(6, ["apple", "banana", "", "Äpfel", "a%b", "cherry\n"]),
            "d": pl.Series(every(9, [Decimal("1.50"), Decimal("-2.25"), Decimal("1000.51")]), dtype=pl.Decimal(10, 2)),
            "day": [None if each is None else each.date() for each in every(8, moments)],
            "t": every(10, moments),
            "ms": pl.Series(every(10, moments), dtype=pl.Datetime("ms")),
            "tz": pl.Series(every(10, [each.replace(tzinfo=UTC) for each in moments]), dtype=pl.Datetime("us", "UTC")),
            "clock": every(4, [dt.time(1), dt.time(13, 30), dt.time(23, 59, 59, 999999)]),
            "b": every(3, [True, False]),
            "l": every(5, [[1, 2], [], [3, None], [None]]),
            "words": every(5, [["a", "b"], [], ["c", None]]),
            "st": every(6, [{"x": 1, "y": "p"}, {"x": None, "y": "q"}, {"x": 3, "y": None}]),
            "bin": every(6, [b"a", b"", b"\xff"]),
            "cat": pl.Series(every(4, ["u", "v", "w"]), dtype=pl.Categorical),
        }
    )


PUSHED: dict[str, pl.Expr] = {
    "int": c("i") > 30,
    "int, mirrored": pl.lit(30) > c("i"),
    "int, equal": c("i") == 7,
    "int, not equal": c("i") != 7,
    "int, not": ~(c("i") > 30),
    "int, nothing": c("i") > 1000,
    "small": c("small") <= 3,
    "large": c("large") > 2**53,
    "large, equal": c("large") == 2**53 + 1,
    "double": c("f") > 0.0,
    "double, zero": c("f") == 0.0,
    "double, NaN is greatest": c("f") >= 1.5,
    "double, not": ~(c("f") < 1.5),
    "double, whole": c("f") != 1,
    "single": c("g") == 0.1,
    "single, order": c("g") > 0.1,
    "nan": c("f").is_nan(),
    "not nan": c("f").is_not_nan(),
    "decimal": c("d") > Decimal("1000.50"),
    "decimal, equal": c("d") == Decimal("1.50"),
    "decimal, more digits": c("d") > Decimal("1.499"),
    "decimal, whole": c("d") < 1,
    "text": c("s") == "apple",
    "text, order": c("s") >= "b",
    "text, empty": c("s") == "",
    "starts_with": c("s").str.starts_with("a"),
    "ends_with": c("s").str.ends_with("e"),
    "contains": c("s").str.contains("an", literal=True),
    "contains a wildcard": c("s").str.contains("a%", literal=True),
    "not contains": ~c("s").str.contains("an", literal=True),
    "starts_with, nothing": c("s").str.starts_with(""),
    "date": c("day") > dt.date(2024, 6, 1),
    "date, equal": c("day") == dt.date(2024, 6, 1),
    "timestamp": c("t") >= dt.datetime(2024, 6, 1),
    "timestamp and date": c("t") < dt.date(2023, 6, 1),
    "timestamp with a zone": c("tz") > dt.datetime(2024, 6, 1, tzinfo=UTC),
    "milliseconds": c("ms") == dt.datetime(2024, 1, 1, 12),
    "time": c("clock") > dt.time(13),
    "year": c("t").dt.year() == 2024,
    "year, not": c("t").dt.year() != 2024,
    "year, less": c("day").dt.year() < 2024,
    "year, at most": c("day").dt.year() <= 2024,
    "year, greater": c("t").dt.year() > 2023,
    "year, at least": c("t").dt.year() >= 2024,
    "bool": c("b"),
    "bool, not": ~c("b"),
    "null": c("s").is_null(),
    "not null": c("d").is_not_null(),
    "null list": c("l").is_null(),
    "in": c("i").is_in([1, 2, 59, 70]),
    "in, text": c("s").is_in(["apple", "", "none"]),
    "not in": ~c("i").is_in([1, 2, 3]),
    "between": c("i").is_between(10, 20),
    "between, open": c("i").is_between(10, 20, closed="none"),
    "equal or missing": c("i").eq_missing(7),
    "other or missing": c("i").ne_missing(7),
    "not equal or missing": ~c("i").eq_missing(7),
    "member": c("st").struct.field("x") == 3,
    "member, null": c("st").struct.field("y").is_null(),
    "list": c("l").list.contains(3),
    "list, not": ~c("l").list.contains(3),
    "list of texts": c("words").list.contains("c"),
    "and": (c("i") > 10) & (c("s") == "apple"),
    "or": (c("i") > 50) | (c("s") == "apple"),
    "or of unknown": (c("f") > 1e300) | c("b"),
    "not or": ~((c("i") > 50) | c("b")),
    "half of it": (c("i") > 30) & (c("i") % 2 == 0),
}
LEFT: dict[str, pl.Expr] = {
    "arithmetic": c("i") % 2 == 0,
    "of two columns": c("i") > c("small"),
    "rounded": c("i") > 1.5,
    "large as double": c("large") == float(2**53),
    "pattern": c("s").str.contains("^a.*e$"),
    "length": c("s").str.len_chars() > 5,
    "month": c("t").dt.month() == 6,
    "year in a zone": c("tz").dt.year() == 2024,
    "binary": c("bin") == b"a",
    "categories": c("cat") == "v",
    "list length": c("l").list.len() > 1,
    "in, nothing": c("i").is_in(pl.Series([], dtype=pl.Int64)),
    "in with NULL": c("i").is_in([1, None]),
    "half of an or": (c("i") > 50) | (c("s").str.len_chars() > 5),
    "milliseconds that are cut": c("ms").cast(pl.Date) == dt.date(2024, 1, 1),
    "window": c("i") == c("i").max(),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[lance_sql.Dataset, Path]:
    folder = tmp_path_factory.mktemp("polars")
    frame().write_parquet(folder / "t.parquet")
    return lance_sql.write(frame(), folder / "t.lance", max_rows_per_file=100), folder / "t.parquet"


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[Predicate | None]:
    """What was pushed down by each scan with a predicate."""
    found: list[Predicate | None] = []
    push = polars_source.pushed_filter

    def noted(predicate: str, schema: pa.Schema) -> Predicate | None:
        found.append(push(predicate, schema))
        return found[-1]

    monkeypatch.setattr(polars_source, "pushed_filter", noted)
    return found


@pytest.mark.parametrize("name", [*PUSHED, *LEFT])
def test_rows_are_those_of_parquet(
    name: str, places: tuple[lance_sql.Dataset, Path], scans: list[Predicate | None]
) -> None:
    table, parquet = places
    condition = {**PUSHED, **LEFT}[name]
    ours = table.to_polars(lazy=True).filter(condition).collect()
    assert ours.equals(pl.scan_parquet(parquet).filter(condition).collect())
    if name != "window":
        (predicate,) = scans
        assert (predicate is not None) == (name in PUSHED)
        # Polars removes no row that the scan returned, unless a part of the condition is left to it
        if name in PUSHED and name != "half of it":
            assert table.count_rows(predicate) == ours.height


def test_most_predicates_are_pushed() -> None:
    assert (len(PUSHED), len(LEFT)) == (67, 16)


@pytest.mark.parametrize(
    "query",
    [
        lambda lazy: lazy.select("s", "i"),
        lambda lazy: lazy.head(5),
        lambda lazy: lazy.filter(c("i") > 30).select("s"),
        lambda lazy: lazy.filter(c("i") > 30).head(3),
        lambda lazy: lazy.head(50).filter(c("i") > 30),
        lambda lazy: lazy.slice(10, 5),
        lambda lazy: lazy.tail(5),
        lambda lazy: lazy.select(pl.len()),
        lambda lazy: lazy.filter(c("i") > 30).select(pl.len()),
        lambda lazy: lazy.group_by("s").agg(c("f").count()).sort("s"),
        lambda lazy: lazy.select(c("st").struct.field("x").sum()),
        lambda lazy: lazy.with_row_index().filter(c("index") > 390),
        lambda lazy: lazy.filter(False),
        lambda lazy: lazy.sort("i", nulls_last=True).head(3).select("i"),
    ],
)
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_queries_are_those_of_parquet(query: Any, engine: Any, places: tuple[lance_sql.Dataset, Path]) -> None:
    table, parquet = places
    ours = query(table.to_polars(lazy=True)).collect(engine=engine)
    assert ours.equals(query(pl.scan_parquet(parquet)).collect(engine=engine))


def test_a_limit_reads_no_more(places: tuple[lance_sql.Dataset, Path], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "lance_sql"):
        assert places[0].to_polars(lazy=True).head(5).collect().height == 5
    (scan,) = [vars(each)["facts"] for each in caplog.records if vars(each).get("operation") == "scan"]
    assert (scan["limit"], scan["rows"]) == (5, 5)


def test_columns_and_filters_of_the_table_come_first(places: tuple[lance_sql.Dataset, Path]) -> None:
    table, _ = places
    lazy = table.to_polars(["i", "_rowid"], "i > 50 AND s IS NOT NULL", lazy=True)
    assert lazy.collect_schema().names() == ["i", "_rowid"]
    assert lazy.filter(c("i") < 55).collect().height == table.count_rows("i > 50 AND i < 55 AND s IS NOT NULL")


def test_a_lazy_frame_stays_at_its_version(tmp_path: Path) -> None:
    table = lance_sql.write({"i": [1, 2, 3]}, tmp_path / "t.lance")
    lazy = table.to_polars(lazy=True)
    table.delete("i = 2")
    assert lazy.filter(c("i") > 1).collect()["i"].to_list() == [2, 3]
