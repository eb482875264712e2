"""Filters, as text and as expressions of Arrow."""

from __future__ import annotations

from .call import Call

_EQUAL = (
    "id = 4",
    "id != 4 AND id < 9",
    "id <> 4 AND id < 9",
    "id >= 95 OR a = 2",
    "NOT (id > 3)",
    "id BETWEEN 3 AND 6",
    "id IN (1, 2, 300)",
    "id NOT IN (1, 2, 300)",
    "a IS NULL",
    "a IS NOT NULL AND id < 20",
    "f > 20.5",
    "f = 1.25",
    "s = 'row 3'",
    "s LIKE 'row 1%'",
    "s LIKE '%2'",
    "s NOT LIKE 'row%'",
    "s ILIKE 'ROW 4'",
    "b",
    "NOT b",
    "b = true",
    "b IS FALSE",
    "d = date '2026-01-05'",
    "d > date '2026-04-01'",
    "ts < timestamp '2026-01-02 00:00:00'",
    "st.x > 95",
    "st.y = 'y1' AND st.x < 10",
    "`id` < 4",
    "array_has(tags, 't4')",
    "array_contains(tags, 't4')",
    "array_has_any(tags, ['t4', 't1'])",
    "array_has_all(tags, ['t4', 't1'])",
    "CAST(id AS DOUBLE) > 97.5",
    "id + 1 = 5",
    "id % 10 = 3",
    "id * 2 > 190",
    "id - a > 90",
    "-id < -95",
    "abs(id) < 3",
    "length(s) = 6",
    "upper(s) = 'ROW 4'",
    "lower(s) = 'row 4'",
    "starts_with(s, 'row 1')",
    "regexp_like(s, 'row 1[0-2]')",
    "contains(s, '12')",
    "bytes = X'05'",
    "coalesce(a, 0) = 0",
)
_OTHER_WORDS = {
    "id / 2 = 3": "id // 2 = 3",
    "cardinality(tags) = 2": "len(tags) = 2",
    "regexp_match(s, 'row 1[0-2]') IS NOT NULL": "regexp_matches(s, 'row 1[0-2]')",
}
_IN_SQL = {
    "CAST(f AS INT) = 3": "trunc(f) = 3",
    "round(f) = 3.0": "round(f) = 3.0",
    "tags[1] = 't1'": "tags[1] = 't1'",
    "d < current_date()": "d < current_date",
    "ts < now()": "ts < now()::TIMESTAMP",
}
_FAILING = (
    "id",
    "id = ",
    "nothing(id) = 1",
    "s = 5 +",
    "id = 'x'",
    "CASE WHEN id > 97 THEN true END",
    "floor(f) = 3.0",
)
_ARROW = (
    "pc.field('id') == 4",
    "(pc.field('id') > 4) & (pc.field('id') < 8)",
    "(pc.field('id') > 94) | (pc.field('a') == 2)",
    "~(pc.field('id') > 4)",
    "pc.field('id').isin([1, 2])",
    "pc.field('a').is_null()",
    "pc.field('a').is_valid()",
    "pc.field('s') == 'row 3'",
    "pc.starts_with(pc.field('s'), 'row 1')",
)
_JSON = (
    "json_get_int(j, 'n') > 15",
    "json_get_string(j, 'name') = 'u1'",
    "json_get_bool(json_get(j, 'deep'), 'on')",
    "json_extract(j, '$.name') = '\"u1\"'",
    "json_exists(j, '$.deep.on')",
    "json_get_float(j, 'n') < 2.5",
)


def _both(filter: str, table: str = "numbers", *, fails: bool = False) -> Call:
    text = filter if filter.startswith(("pc.", "(pc", "~(pc")) else repr(filter)
    return Call(f"ds.to_table(['id'], filter={text})", f"t.scan(['id'], {text}).to_table()", table, fails=fails)


def _in_words(filter: str, ours: str) -> Call:
    return Call(f"ds.to_table(['id'], filter={filter!r})", f"t.scan(['id'], {ours!r}).to_table()")


def _in_sql(filter: str, ours: str) -> Call:
    query = f"lance_sql.sql(f\"SELECT id FROM '{{t.uri}}' WHERE {ours}\").to_table()"
    return Call(f"ds.to_table(['id'], filter={filter!r})", query)


CALLS = (
    *(_both(filter) for filter in (*_EQUAL, *_ARROW)),
    *(_both(filter, fails=True) for filter in _FAILING),
    *(_both(filter, "json") for filter in _JSON),
    *(_in_words(*each) for each in _OTHER_WORDS.items()),
    *(_in_sql(*each) for each in _IN_SQL.items()),
)
