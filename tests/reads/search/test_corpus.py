"""Tables of other writers, with their answers."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from tests.conftest import CORPUS

FOLDER = CORPUS / "search"
CASES = sorted(path.parent.name for path in FOLDER.glob("*/expected.json")) if FOLDER.exists() else []

pytestmark = pytest.mark.skipif(not CASES, reason=f"there is no corpus at {FOLDER}")


def load_check() -> Any:
    spec = importlib.util.spec_from_file_location("search_check", FOLDER / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.check


def ask(path: Path, query: dict[str, Any], **options: Any) -> list[tuple[int, float]]:
    search = lance_sql.open(str(path)).search(
        query["query"], column=query["column"], k=query["k"], filter=query["filter"], columns=["id"], **options
    )
    found = search.to_table()
    return list(zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_exact_search(case: str) -> None:
    check = load_check()
    path = FOLDER / case / "data.lance"
    expected = json.loads((FOLDER / case / "expected.json").read_text())
    queries = [each for each in expected["queries"] if each["kind"] == "vector"]
    if not queries:
        pytest.skip("no vectors in this case")
    for query in queries:
        # without an index its metric is not known
        for metric in [query["metric"]] if query["metric"] else ["l2", "cosine", "dot", "hamming"]:
            try:
                wrong = check(query, ask(path, query, metric=metric, use_index=False), exact=True)
            except lance_sql.InvalidArgument:
                continue
            if wrong is None:
                break
        assert wrong is None, f"{case}: {wrong} of {query}"


@pytest.mark.parametrize("case", CASES)
def test_search_by_indices(case: str) -> None:
    check = load_check()
    path = FOLDER / case / "data.lance"
    expected = json.loads((FOLDER / case / "expected.json").read_text())
    queries = [each for each in expected["queries"] if each["kind"] == "vector"]
    if not queries:
        pytest.skip("no vectors in this case")
    for query in queries:
        options = {name: query[name] for name in ("nprobes", "metric", "use_index") if query[name] is not None}
        wrong = check(query, ask(path, query, refine_factor=query["refine"], **options))
        assert wrong is None, f"{case}: {wrong} of {query}"


@pytest.mark.parametrize("case", CASES)
def test_search_for_words(case: str) -> None:
    check = load_check()
    path = FOLDER / case / "data.lance"
    expected = json.loads((FOLDER / case / "expected.json").read_text())
    queries = [each for each in expected["queries"] if each["kind"] == "fts"]
    if not queries:
        pytest.skip("no words in this case")
    dataset = lance_sql.open(str(path))
    for query in queries:
        found = dataset.search(text=query["query"], k=query["k"], filter=query["filter"], columns=["id"]).to_table()
        wrong = check(query, list(zip(found["id"].to_pylist(), found["_score"].to_pylist(), strict=True)))
        assert wrong is None, f"{case}: {wrong} of {query}"


@pytest.mark.skipif("hybrid" not in CASES, reason="no such case")
@pytest.mark.parametrize(("fusion", "prefix"), [("linear", ""), ("rrf", "rrf_")])
def test_search_by_both(fusion: str, prefix: str) -> None:
    check = load_check()
    expected = json.loads((FOLDER / "hybrid" / "expected.json").read_text())
    dataset = lance_sql.open(str(FOLDER / "hybrid" / "data.lance"))
    queries = [each for each in expected["queries"] if each["kind"] == "hybrid"]
    assert queries
    for query in queries:
        found = dataset.search(
            query["query"],
            column=query["vector_column"],
            text=query["text"],
            text_column=query["text_column"],
            k=query["k"],
            alpha=query["alpha"],
            oversample_factor=query["oversample"],
            fusion=fusion,
            columns=["id"],
        ).to_table()
        answer = {**query, "ids": query[f"{prefix}ids"], "scores": query[f"{prefix}scores"]}
        got = list(zip(found["id"].to_pylist(), found["_hybrid_score"].to_pylist(), strict=True))
        assert check(answer, got) is None
