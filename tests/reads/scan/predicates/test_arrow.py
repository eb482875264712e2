"""Arrow expressions to predicates, over every form that engines send; it pins Arrow's serialized layout."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_sql.errors import ColumnNotFound, InvalidArgument, UnsupportedFeature
from lance_sql.reads.scan.predicates import And, In, Opaque, Or, evaluate, from_arrow
from lance_sql.reads.scan.predicates.arrow_expression import Call, ColumnPath, Scalar, decode

SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("f", pa.float64()),
        ("h", pa.float16()),
        ("s", pa.string()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("m", pa.decimal128(10, 2)),
        ("b", pa.bool_()),
        ("w", pa.dictionary(pa.int8(), pa.string())),
        ("n", pa.struct([("a", pa.struct([("b", pa.int64())]))])),
        ("x", pa.binary(2)),
    ]
)
NULL = pa.scalar(None, pa.bool_())
i, f, s = pc.field("i"), pc.field("f"), pc.field("s")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (i == 1, "i = 1"),
        (i != 1, "i <> 1"),
        (i < 1.5, "i <= 1"),
        (pc.scalar(1) < i, "i > 1"),
        ((i > 1) & (i <= 5) & (s == "x"), "i > 1 AND i <= 5 AND s = 'x'"),
        ((i > 1) | s.is_null(), "i > 1 OR s IS NULL"),
        (~(i > 1), "i <= 1"),
        (i.isin([1, 2, 3]), "i IN (1, 2, 3)"),
        (i.isin([1, None]), "i IN (1, NULL)"),
        (~i.isin([1, 2]), "NOT (i IN (1, 2))"),
        (pc.if_else(i.is_valid(), i.isin([1, 2]), NULL), "i IN (1, 2)"),
        (pc.if_else(i.is_null(), NULL, i == 1), "(i IS NULL AND NULL) OR (NOT (i IS NULL) AND i = 1)"),
        (f.isin([0.0, -0.0, float("nan")]), "f IN (0.0, nan)"),
        (f > 0, "f > 0.0"),
        ((f > 0) | (f != f), "f > 0.0 OR f <> f"),
        (((f >= 1) & (f <= 2)).is_null(), "(f >= 1.0 AND f <= 2.0) IS NULL"),
        ((f > 1).is_valid(), "NOT ((f > 1.0) IS NULL)"),
        ((f > 1) == (i > 2), "(f > 1.0 AND i > 2) OR (f <= 1.0 AND i <= 2)"),
        (pc.field("m") == 1.2, "m = 1.20"),
        (pc.field("m").isin(pa.array([1.2, 2.0])), "m IN (1.20, 2.00)"),
        (f.is_nan(), "isnan(f)"),
        (f.is_null(nan_is_null=True), "f IS NULL OR isnan(f)"),
        (i.is_null(nan_is_null=True), "i IS NULL OR (i IS NULL AND NULL)"),
        (i.is_valid(), "NOT (i IS NULL)"),
        (pc.field("h") > 1.5, "h > 1.5"),
        (pc.field("b"), "b = TRUE"),
        (~pc.field("b"), "b <> TRUE"),
        (pc.scalar(True), "TRUE"),
        (pc.scalar(NULL), "NULL"),
        (i == pa.scalar(None, pa.int32()), "NULL"),
        (pc.field("d") == datetime.date(2024, 1, 31), "d = '2024-01-31'"),
        (pc.field("t") < pa.scalar(1500, pa.timestamp("ns", "UTC")), "t <= '1970-01-01 00:00:00.000001+00'"),
        (pc.field("m") >= Decimal("1.005"), "m > 1.00"),
        (pc.field("n", "a", "b") == 3, "n.a.b = 3"),
        (pc.field(("n", "a")).is_null(), "n.a IS NULL"),
        (pc.field("w") == pa.scalar("x", pa.dictionary(pa.int8(), pa.string())), "w = 'x'"),
        (pc.field("x") == b"ab", "x = '\\x61\\x62'::BLOB"),
        (i.cast(pa.int64()) > 5, "i > 5"),
        (i > pc.scalar(5).cast(pa.int64()), "i > 5"),
        (pc.starts_with(s, "a"), "starts_with(s, 'a')"),
        (pc.ends_with(s, "a"), "ends_with(s, 'a')"),
        (pc.match_substring(s, "a"), "contains(s, 'a')"),
        (pc.match_like(s, "a_%"), "s LIKE 'a_%' ESCAPE '\\'"),
        (i == pc.field("m"), "i = m"),
    ],
)
def test_an_expression_becomes_a_predicate(expression: pc.Expression, expected: str) -> None:
    assert str(from_arrow(expression, SCHEMA)) == expected


def test_a_long_value_set_is_complete() -> None:
    predicate = from_arrow(i.isin(list(range(5000))), SCHEMA)
    assert isinstance(predicate, In)
    assert len(predicate.values) == 5000


def test_a_long_chain_costs_no_recursion() -> None:
    chain = i == 0
    for number in range(1, 3000):
        chain = chain | (i == number)
    predicate = from_arrow(chain, SCHEMA)
    assert isinstance(predicate, Or)
    assert len(predicate.arguments) == 3000


def test_the_serialized_form_is_read_with_repeated_keys_in_order() -> None:
    root = decode((pc.field("n", "a") + 1 > 3) & s.isin(["x"])).root
    assert isinstance(root, Call)
    assert root.name == "and_kleene"
    compare, member = root.arguments
    assert isinstance(compare, Call)
    assert isinstance(compare.arguments[0], Call)
    assert compare.arguments[0].arguments[0] == ColumnPath(("n", "a"))
    assert compare.arguments[1] == Scalar(pa.scalar(3))
    assert isinstance(member, Call)
    assert member.options is not None
    assert member.options["value_set"].as_py() == ["x"]


def test_an_unknown_function_is_left_to_arrow_on_its_columns() -> None:
    predicate = from_arrow((pc.utf8_length(s) > 1) & (f > 0), SCHEMA)
    assert isinstance(predicate, And)
    opaque = predicate.arguments[0]
    assert isinstance(opaque, Opaque)
    assert opaque.columns == {("s",)}
    batch = pa.record_batch({"f": [1.0, 1.0, float("nan"), 0.0], "s": ["a", "ab", "abc", "abcd"]})
    assert evaluate(predicate, batch).to_pylist() == [False, True, True, False]


def test_an_opaque_leaf_reads_dictionary_columns() -> None:
    predicate = from_arrow(pc.utf8_length(pc.field("s")) > 1, SCHEMA)
    batch = pa.record_batch({"s": pa.array(["a", "ab", None]).dictionary_encode()})
    assert evaluate(predicate, batch).to_pylist() == [False, True, None]


@pytest.mark.parametrize("expression", [pc.sqrt(f) > 2, pc.abs(pc.field("h")) > 1, pc.is_finite(f)])
def test_an_unknown_function_of_floats_is_refused(expression: pc.Expression) -> None:
    with pytest.raises(UnsupportedFeature, match="floating-point"):
        from_arrow(expression, SCHEMA)


def test_a_column_by_position_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="cannot be read"):
        from_arrow(pc.field(0) == 1, SCHEMA)


def test_mistakes_are_named() -> None:
    with pytest.raises(ColumnNotFound, match=r"No column 'zz' in the table"):
        from_arrow(pc.field("zz") == 1, SCHEMA)
    with pytest.raises(InvalidArgument, match=r"Cannot compare column 'i' \(int32\) with 'x'"):
        from_arrow(i == "x", SCHEMA)
    with pytest.raises(InvalidArgument, match="cannot be evaluated"):
        from_arrow(pc.utf8_length(i) > 1, SCHEMA)
    with pytest.raises(InvalidArgument, match="not a condition"):
        from_arrow(pc.scalar(3), SCHEMA)
