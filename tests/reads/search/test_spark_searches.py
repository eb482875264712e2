"""Searches through Spark: the process of the session searches. All files of Spark share a session."""

from __future__ import annotations

from typing import Any

import pytest

import lance_sql

# of the packages that a session is started beside
pytestmark = pytest.mark.filterwarnings("ignore")


def test_on_spark_the_process_of_the_session_searches(path: str, articles: str, spark: Any) -> None:
    def rows(sql: str) -> list[tuple[Any, ...]]:
        found = lance_sql.sql(sql, engine="spark", session=spark).to_table()
        return [tuple(row.values()) for row in found.to_pylist()]

    calls = {
        f"lance_vector_search('{path}', 'v', array(20, 0), k => 3, filter => \"kind = 'b'\")": [19, 21, 17],
        f"lance_fts('{articles}', 'body', 'quick', k => 2, filter => 'id < 3')": [1, 2],
        f"lance_hybrid_search('{articles}', 'v', array(0, 1), 'body', 'rivers', k => 1, fusion => 'rrf')": [4],
        f"lance_vector_join('{path}', 'v', array(array(20, 0), array(40, 0)), k => 1)": [20, 40],
        f"lance_search_changes('{articles}', 1, text_column => 'body', query => 'quick')": [2],
    }
    for call, ids in calls.items():
        assert sorted(row[0] for row in rows(f"SELECT id FROM {call} WHERE id > 0")) == sorted(ids)
