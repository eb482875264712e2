"""Assertion about the results of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lance_sql.errors import InvalidArgument
from lance_sql.health.differences import open_table
from lance_sql.testing.report import short
from lance_sql.testing.tables import TableLike
from lance_sql.values.keywords import suggests_keywords


@suggests_keywords
def assert_search(
    table: TableLike,
    query: Any,
    expected: Sequence[Any],
    *,
    key: str = "id",
    min_recall: float = 1.0,
    **options: Any,
) -> None:
    """Fails unless a search finds these rows, or enough of them, in any order.

    query: a vector, words, or a query object
    expected: keys of rows
    key: the column of the keys
    min_recall: the minimum share of them that must be found
    options: of `Dataset.search`; the default of `k` is the number of expected rows
    raises: AssertionError, with the missing rows; as `Dataset.search`

    >>> import lance_sql, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "articles.lance")
    >>> articles = lance_sql.write({"id": [1, 2, 3], "body": ["quick fox", "slow cat", "a fox"]}, path)
    >>> assert_search(articles, "quick fox", [1, 3], text_column="body")
    """
    __tracebackhide__ = True
    if not expected:
        raise InvalidArgument("The list of expected keys is empty: pass keys")
    options = {"k": len(expected), **options}
    if isinstance(query, str | Mapping):
        scan = open_table(table).search(text=query, columns=[key], **options)
    else:
        scan = open_table(table).search(query, columns=[key], **options)
    answer = scan.to_table()[key].to_pylist()
    missing = [each for each in expected if each not in answer]
    recall = 1 - len(missing) / len(expected)
    if recall < min_recall:
        others = [each for each in answer if each not in expected]
        raise AssertionError(
            f"The search finds {len(expected) - len(missing)} of {len(expected)} rows, a recall of {recall:.3f},"
            f" where {min_recall} is wanted\n  missing: {short(missing)}\n  others: {short(others)}\n"
            + "\n".join(f"  {note}" for note in scan.ranking.notes)
        )
