"""Each table of arguments that a rewriting reads, against the classes of sqlglot.

An argument that is not in a table, such as one of a later release, leaves the statement as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from lance_sql.errors import UnsupportedFeature
from lance_sql.one_sql import exact_filters, narrowing, pushed_conditions
from lance_sql.one_sql.exact_filters import exact_filter
from lance_sql.one_sql.narrowing import has_known_parts, needed
from lance_sql.providers.adapter import named
from lance_sql.reads.scan.predicates import sql_conditions, sql_operand, sql_operands
from lance_sql.reads.scan.predicates.sql import from_sql
from lance_sql.values.sql_tree import given, has_only

SCHEMA = pa.schema([("a", pa.int64()), ("s", pa.string()), ("f", pa.float64()), ("d", pa.date32())])
_NEW = "argument_of_a_later_release"


def _kinds() -> Iterator[type[exp.Expression]]:
    for _, kind in inspect.getmembers(exp, inspect.isclass):
        if issubclass(kind, exp.Expression):
            yield kind


def _others(table: Mapping[type[exp.Expr], Any]) -> list[tuple[type[exp.Expr], str]]:
    """Returns the arguments of each kind that its table does not have, and one that no release has."""
    return [(kind, name) for kind in table for name in sorted({*kind.arg_types, _NEW} - set(table[kind]))]


def _parsed(text: str) -> exp.Expr:
    condition: exp.Expr = sqlglot.parse_one(f"SELECT * FROM t WHERE {text}", dialect="spark").args["where"].this
    return condition


CONDITIONS = (
    "a = 1 AND NOT (s <> 'x' OR a BETWEEN -1 AND 2)",
    "a IN (1, 2) AND a IS NOT NULL AND s NOT LIKE 'x%'",
    "a < 1 OR a <= 2 OR a > 3 OR a >= 4",
    "d < DATE '1994-01-01' + INTERVAL '3' MONTH",
    "f < 0.06 - 0.01 * 2",
)


def test_the_conditions_below_are_filters() -> None:
    for text in CONDITIONS:
        assert exact_filters.is_understood(_parsed(text)), text


@pytest.mark.parametrize(
    ("kind", "name"), [*_others(exact_filters._CONDITIONS), *_others(exact_filters._CONSTANTS)], ids=str
)
def test_a_condition_with_another_argument_is_no_filter(kind: type[exp.Expr], name: str) -> None:
    for text in CONDITIONS:
        condition = _parsed(text)
        for node in list(condition.find_all(kind)):
            if type(node) is kind and name not in node.args:
                node.set(name, True)
                assert exact_filter(condition, SCHEMA, named("spark")) is None, text


def test_a_condition_of_every_other_kind_is_no_filter() -> None:
    known = {*exact_filters._CONDITIONS, *exact_filters._CONSTANTS}
    for kind in _kinds():
        if kind not in known:
            assert not exact_filters.is_understood(kind(this=exp.column("a"))), kind
            inner = exp.And(this=_parsed("a = 1"), expression=kind(this=exp.column("a")))
            assert exact_filter(inner, SCHEMA, named("spark")) is None, kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s NOT LIKE 'a%'", "(\"s\" NOT LIKE 'a%')"),
        ("NOT (s NOT LIKE 'a%')", "(NOT (\"s\" NOT LIKE 'a%'))"),
        ("s LIKE 'a%'", "(\"s\" LIKE 'a%')"),
        ("s = 'it''s'", None),
        (r"s LIKE 'a\\%'", None),
        ('s IN ("it\'s")', None),
        ("s LIKE 'a%' ESCAPE '!'", None),
        ("s NOT ILIKE 'a%'", None),
        ("s LIKE ANY ('a', 'b')", None),
        ("s NOT LIKE ALL ('a', 'b')", None),
        ("a IS NOT NULL", '(NOT ("a" IS NULL))'),
        ("a IS DISTINCT FROM 1", None),
        ("a <=> 1", None),
        ("f + 0.1 > 0.3", None),
        ("a + 1 > 3", None),
        ("date_trunc('year', d) = DATE '2020-01-01'", None),
        ("a = CAST('1' AS INT)", None),
        ("a IN (SELECT 1)", None),
        ("a IS NOT TRUE", None),
    ],
)
def test_filters_of_conditions(text: str, expected: str | None) -> None:
    assert exact_filter(_parsed(text), SCHEMA, named("spark")) == expected


@pytest.mark.parametrize(("kind", "name"), _others(narrowing._KNOWN), ids=str)
def test_a_query_with_another_argument_is_not_narrowed(kind: type[exp.Expr], name: str) -> None:
    query = sqlglot.parse_one(
        "WITH c AS (SELECT * EXCEPT (s) FROM t) SELECT count(*), x.a FROM (SELECT a FROM t ORDER BY a) AS x JOIN c"
        " ON x.a = c.a WHERE x.a > 1 GROUP BY x.a HAVING count(*) > 1 UNION SELECT a, a FROM (VALUES (1)) AS v (a)",
        dialect="spark",
    )
    assert has_known_parts(query)
    for node in list(query.find_all(kind)):
        if type(node) is kind and name not in node.args:
            changed = query.copy()
            at = [each for each in query.find_all(kind) if type(each) is kind].index(node)
            [each for each in changed.find_all(kind) if type(each) is kind][at].set(name, exp.true())
            assert not has_known_parts(changed)


def test_a_query_of_another_kind_is_not_narrowed() -> None:
    for kind in _kinds():
        if issubclass(kind, exp.Query | exp.UDTF) and kind not in narrowing._KNOWN:
            query = sqlglot.parse_one("SELECT a FROM t")
            query.set("where", exp.Where(this=exp.Exists(this=kind(this=exp.column("s")))))
            assert not has_known_parts(query), kind


@pytest.mark.parametrize(("kind", "name"), _others(pushed_conditions._PASSED), ids=str)
def test_rows_are_not_filtered_below_another_argument(kind: type[exp.Expr], name: str) -> None:
    node = kind()
    assert has_only(node, pushed_conditions._PASSED)
    node.set(name, exp.true())
    assert not pushed_conditions._is_passed(node)


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("to_json(struct(t.*))", None),
        ("struct(*)", None),
        ("count(t.*)", None),
        ("max_by(struct(t.*), a)", None),
        ("coalesce(t.*)", None),
        ("array(t.*)", None),
        ("concat_ws('|', t.*)", None),
        ("count(*)", set()),
        ("t.*", {"a", "s", "f", "d"}),
        ("* EXCEPT (s)", {"a", "s", "f", "d"}),
        ("a, length(s)", {"a", "s"}),
    ],
)
def test_columns_that_a_query_may_use(select: str, columns: set[str] | None) -> None:
    found = needed(sqlglot.parse_one(f"SELECT {select} FROM t", dialect="spark"), {"t": SCHEMA}, named("spark"))
    assert (None if found is None else set(found["t"].columns)) == columns


def test_an_inner_star_without_some_columns_keeps_them_for_the_engine() -> None:
    query = sqlglot.parse_one("SELECT a FROM (SELECT * EXCEPT (s) FROM t) AS x", dialect="spark")
    found = needed(query, {"t": SCHEMA}, named("spark"))
    assert found is not None
    assert found["t"].columns == {"a", "s"}


def test_columns_with_other_names_are_not_narrowed() -> None:
    query = sqlglot.parse_one("SELECT x.b FROM t AS x (b, a, c, d) WHERE x.a = 'v'", dialect="spark")
    assert needed(query, {"t": SCHEMA}, named("spark")) is None
    assert not has_known_parts(query)


@pytest.mark.parametrize("table", [sql_conditions._CONDITIONS, sql_operands._OPERANDS], ids=["conditions", "operands"])
def test_a_filter_with_another_argument_is_refused(
    table: Mapping[type[exp.Expr], tuple[Any, frozenset[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # a node alone cannot be printed
    monkeypatch.setattr(sql_operand, "refuse", lambda node: UnsupportedFeature("refused"))
    for kind, (_, understood) in table.items():
        for name in {*kind.arg_types, _NEW} - understood:
            node = kind()
            node.set(name, exp.true())
            with pytest.raises(UnsupportedFeature):
                sql_operand.check_arguments(node, understood)


def test_filters_in_any_form_of_not() -> None:
    for text in ("s NOT LIKE 'a%'", "NOT s LIKE 'a%'", "NOT (s LIKE 'a%')"):
        assert str(from_sql(text, SCHEMA)) == str(from_sql("NOT (s LIKE 'a%')", SCHEMA))


def test_arguments_that_a_node_has() -> None:
    assert given(_parsed("s NOT LIKE 'a'")) >= {"this", "expression"}
    assert given(exp.Like(this=exp.column("a"), negate=False)) == {"this"}
