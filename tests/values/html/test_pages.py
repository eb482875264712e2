"""Contents of pages, without a browser."""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lance_sql
from lance_sql.catalogs.metadata_tables import cursor_page
from lance_sql.errors import MissingDependency
from lance_sql.health.differences import Difference
from lance_sql.health.differences.difference import Cell, ColumnChange, DataFileChange, Side, UpdatedRow
from lance_sql.values.html import charts, render
from lance_sql.values.html.render import cell, duration, share, size
from tests.values.html.made import HOSTILE, NAME, make

VOID = {"meta", "link", "rect", "line", "path"}


class Reader(HTMLParser):
    """Elements, and whether they are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return make(tmp_path_factory.mktemp("pages"))


KINDS = (
    "audit",
    "contract",
    "cursors",
    "diff",
    "feed",
    "healthy",
    "healthy audit",
    "history",
    "layout",
    "publication",
    "search",
    "search changes",
    "stories",
    "verify",
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_whole_and_only_text_is_text(pages: Mapping[str, str], kind: str) -> None:
    reader = read(pages[kind])
    tags = [tag for tag, _ in reader.elements]
    assert tags.count("script") == tags.count("style") == tags.count("h1") == tags.count("main") == 1
    assert "img" not in tags
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    shown = pages[kind].partition("<body")[2]
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    if kind in ("diff", "feed", "history", "stories"):
        assert "{{ 7*7 }}" in "".join(reader.text)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_asks_for_nothing(pages: Mapping[str, str], kind: str) -> None:
    for tag, attributes in read(pages[kind]).elements:
        for name in ("src", "href", "action", "data", "xlink:href"):
            value = attributes.get(name)
            assert value is None or value.startswith("#") or value == "data:,", (tag, value)
    assert "url(" not in pages[kind]
    assert "@import" not in pages[kind]
    assert "default-src 'none'" in pages[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_unique_and_labels_are_there(pages: Mapping[str, str], kind: str) -> None:
    elements = read(pages[kind]).elements
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in elements:
        for name in ("aria-labelledby", "href"):
            value = attributes.get(name) or ""
            if (name == "aria-labelledby" and value) or value.startswith("#"):
                assert value.removeprefix("#") in ids


@pytest.fixture(scope="module", params=["empty", "one row", "huge"])
def sized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Page of each kind, of a table without rows, with one row, or with many rows and columns."""
    folder, count = tmp_path_factory.mktemp("sized"), {"empty": 0, "one row": 1, "huge": 2000}[request.param]
    names = [f"c{number}" for number in range(3 if count < 2 else 40)]
    columns = {name: pa.array([f"{name} {row}" for row in range(count)], pa.string()) for name in names}
    rows = pa.table({"id": pa.array(range(count), pa.int64()), **columns})
    table = lance_sql.write(rows, folder / "t.lance", max_rows_per_file=100)
    if count > 1:
        for number in range(4):
            table = table.update({"c1": f"'changed {number}'"}, f"id % 3 = {number % 3}")
    table = table.rules.set("ids", "unique(id)").rules.set("none", "id < 0")
    table.cursors.open("warehouse", start="earliest")
    with table.branches.staged("load") as branch:
        lance_sql.write(rows, branch, mode="append")
    table.rules.set("none", "id < 0", severity="warn")
    with table.latest().branches.staged("conflict") as branch:
        branch.update({"c0": "'mine'"}, "true")
    table.branches.create("same")
    table = table.latest().update({"c0": "'theirs'"}, "true")
    with table.branches.staged("published") as branch:
        lance_sql.write({"id": [-1]}, branch, mode="append")
    _ = table.branches.publish("published")
    return {
        "audit": lance_sql.audit(table.uri),
        "contract": table.rules.check(),
        "diff": lance_sql.diff(f"{table.uri}@1", table),
        "feed": table.changes(),
        "history": table.history(),
        "layout": table.maintenance.layout(),
        "publication": table.branches.plan("load"),
        "publication with conflicts": table.branches.plan("conflict"),
        "publication without changes": table.branches.plan("same"),
        "publication made before": table.branches.plan("published"),
        "search": table.search(text="theirs", text_column="c0", k=None),
        "search changes": table.search_changes(text="theirs", text_column="c0", since=1, k=None),
        "stories": table.row_history(),
        "verify": lance_sql.verify(table.uri),
        "cursors": cursor_page(table),
    }


SIZED = [
    *("audit", "contract", "cursors", "diff", "feed", "history", "layout", "publication", "publication with conflicts"),
    *("publication without changes", "publication made before", "search", "search changes", "stories", "verify"),
]


@pytest.mark.parametrize("kind", SIZED)
def test_a_page_of_any_size_is_whole(sized: Mapping[str, Any], kind: str) -> None:
    value = sized[kind]
    page = value if isinstance(value, str) else value.to_html()
    assert "main" in [tag for tag, _ in read(page).elements]
    assert len(page) < 4_000_000
    part = getattr(value, "_repr_html_", lambda: "")()
    assert part is not None
    assert not part or read(part).elements


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", "".join(read(page[page.index("<body") : page.index("</body>") + 7]).text))


def test_pages_list_their_contents(pages: Mapping[str, str]) -> None:
    diff, history, layout, verify = (text_of(pages[kind]) for kind in ("diff", "history", "layout", "verify"))
    assert "<script>alert(3)</script>" in diff
    assert "5 rows updated" in diff
    assert "241 rows inserted" in diff
    assert "the first 12 of 241" in diff
    assert "added" in diff
    assert "audited" in history
    assert "branch dev" in history
    assert "9 versions" in history
    assert "fewer than 1,048,576 rows" in layout
    assert "deleted" in layout
    assert "damaged" in verify
    assert "No damage found." in text_of(pages["healthy"])
    assert "No fault found." in text_of(pages["healthy audit"])
    audit = text_of(pages["audit"])
    assert "1 fault" in audit
    assert "every query of its columns" in audit
    feed, stories = text_of(pages["feed"]), text_of(pages["stories"])
    assert "9 commits" in feed
    assert "Version 3 delete" in feed
    assert "35 rows more" in feed
    assert "id 3 current" in stories
    assert "id 6 deleted" in stories
    assert "version 3 delete" in stories


def test_notebooks_show_parts(tmp_path: Path) -> None:
    table = lance_sql.write({"id": [1, 2], "<b>": ["<i>", None]}, tmp_path / "t.lance").delete("id = 2")
    shown: list[Any] = [table, table.scan(["id"], "id > 0"), table.history(), lance_sql.diff(f"{table.uri}@1", table)]
    shown += [table.changes(), table.row_history(), table.maintenance.layout(), lance_sql.verify(table.uri)]
    for each in shown:
        html = each._repr_html_()
        reader = read(html)
        assert "script" not in [tag for tag, _ in reader.elements]
        assert "<i>" not in html
        assert "lance part" in html


def test_results_are_frames(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    table = lance_sql.write({"id": [1, 2]}, tmp_path / "t.lance").delete("id = 2")
    for each, num_rows in (
        (table.history(), 2),
        (table.maintenance.layout(), 1),
        (lance_sql.verify(table.uri), 0),
        (table.changes(), 3),
        (table.row_history(), 2),
        (table.scan(), 1),
        (lance_sql.sql(f"FROM '{table.uri}'"), 1),
    ):
        assert len(each.to_pandas()) == num_rows
        assert each.to_polars().height == num_rows


def test_pages_without_jinja_name_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lance_sql.write({"id": [1]}, tmp_path / "t.lance")
    known = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.startswith("jinja2"):
            raise ImportError(name)
        return known(name, *arguments)

    render.__globals__["_environment"].cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependency, match="pip install 'jinja2>="):
        table.history().to_html()
    assert table._repr_html_() is None
    monkeypatch.undo()
    assert table._repr_html_() is not None


def test_numbers_have_units() -> None:
    assert [size(each) for each in (None, 1, 1023, 1536, 5 << 30)] == [
        "\N{EN DASH}",
        "1 byte",
        "1,023 bytes",
        "1.5 KiB",
        "5.0 GiB",
    ]
    assert [share(each) for each in (0.0, 0.00001, 0.125, 0.99999, 1.0)] == ["0%", "< 0.1%", "12.5%", "> 99.9%", "100%"]
    assert [duration(each) for each in (5, 1500, 90_000)] == ["5 ms", "1.5 s", "1.5 min"]
    assert len(cell(b"\xff" * 10**7)) == 2000


COLUMNS = st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(0, 10**9)), max_size=40)


@given(COLUMNS, st.floats(10, 500))
def test_bars_lie_in_the_chart_in_proportion(counts: list[tuple[int, int, int]], height: float) -> None:
    columns = [(("ins", a, False), ("upd", b, False), ("del", c, True)) for a, b, c in counts]
    found, line = charts.diverging(columns, height)
    total = max((a + b for a, b, _ in counts), default=0) + max((c for *_, c in counts), default=0) or 1
    assert 0 <= line <= height
    for (a, b, c), bars in zip(counts, found, strict=True):
        assert {bar.kind: bar.height for bar in bars} == {
            kind: max(height * count / total, 2.0) for kind, count in (("ins", a), ("upd", b), ("del", c)) if count
        }
        for bar in bars:
            assert 0 <= bar.x < bar.x + bar.width <= charts.WIDTH
            assert -5 <= bar.y < bar.y + bar.height <= height + 5
            assert (bar.y >= line - 1e-6) == (bar.kind == "del")


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=50))
def test_a_strip_is_filled(sizes: list[int]) -> None:
    sections = charts.strip(sizes)
    assert sections[0][0] == 0
    assert all(a[1] == b[0] for a, b in pairwise(sections))
    assert sections[-1][1] == pytest.approx(charts.WIDTH if any(sizes) else 0)


def a_difference(text: str, value: object) -> Difference:
    """One row of each kind, in which a text is the name of everything, and a value in every cell."""
    side = Side(f"{text} version 1", text, 1, 1, 1, 1, 1)
    rows = pa.table({"id": pa.array([1]), "v": pa.array([value])})
    return Difference(
        before=side,
        after=side,
        key=("id",),
        shown=("id",),
        columns=(ColumnChange("added", text, None, text), ColumnChange("renamed", text, text, text)),
        not_compared=(text,),
        rows_inserted=1,
        rows_deleted=1,
        rows_updated=1,
        rows_rewritten=0,
        cells_updated={text: 1},
        inserted=rows.rename_columns(["id", text or "v"]),
        deleted=rows,
        updated=(UpdatedRow((value,), (Cell(text, value, value),)),),
        files_added=(DataFileChange(text, 0, 1, 1),),
        files_removed=(),
        is_one_table=True,
    )


def outline(page: str) -> list[tuple[str, list[str]]]:
    return [(tag, sorted(attributes)) for tag, attributes in read(page).elements]


TEXTS = st.one_of(
    st.text(), st.sampled_from([HOSTILE, NAME, "--><!--", "]]>", "</style>", "{% raw %}", "'\"` onclick=x"])
)


@settings(max_examples=60)
@given(TEXTS, st.one_of(TEXTS, st.binary(max_size=20)))
def test_no_text_becomes_an_element_or_an_attribute(text: str, value: object) -> None:
    # an empty text and NULL are said in words, by an element of their own
    shown = value if value != "" else "x"
    assert outline(a_difference(text, shown).to_html()) == outline(a_difference("plain", "x").to_html())


def test_words_that_were_found_are_marked(pages: Mapping[str, str]) -> None:
    marked = re.findall("<mark>(.*?)</mark>", pages["search"])
    assert set(marked) == {"alert", "img"}
    assert pages["search"].count("<li>") > 3
    assert "…" in pages["search"]
    chips = re.findall(r'class="chip (ins|upd|del)">(\w+) · (\w+)<', pages["search changes"])
    assert sorted(chips) == [("del", "gone", "delete"), ("ins", "new", "update")]


@pytest.mark.parametrize(
    ("settings", "query", "text", "words"),
    [
        ({}, "foxes", "Fox and FOXES, foxglove", ["Fox", "FOXES"]),
        ({"stem": False}, {"match": {"terms": "fax", "fuzziness": 1}}, "fox fan fax facts", ["fox", "fan", "fax"]),
        ({"stem": False, "ascii_folding": True}, "cafe", "un Café, cafés", ["Café"]),
        ({"base_tokenizer": "whitespace", "stem": False}, "dog,", "a dog, dog", ["dog,"]),
        ({"base_tokenizer": "ngram", "stem": False}, "foxes", "xfoxy foxes", ["fox", "foxes"]),
        ({"base_tokenizer": "raw", "stem": False, "lower_case": True}, "a B", "A b", ["A b"]),
        (None, "fox", "fox Fox", ["fox"]),
        ({}, {"boolean": {"must": [{"phrase": {"terms": "red fox"}}], "must_not": [{"match": {"terms": "dog"}}]}},
         "a red fox by a river", ["red", "fox"]),
    ],
    ids=str,
)  # fmt: skip
def test_words_are_marked_as_the_index_takes_texts_apart(
    tmp_path: Path, settings: dict[str, Any] | None, query: Any, text: str, words: list[str]
) -> None:
    table = lance_sql.write({"s": [text, "other"]}, tmp_path / "t.lance")
    if settings is not None:
        table = table.indices.create("s", "inverted", **settings)
    page = table.search(text=query, k=None).to_html()
    assert re.findall("<mark>(.*?)</mark>", page) == words


def test_a_search_page_has_its_conditions_and_bars_from_zero(tmp_path: Path) -> None:
    rows = {"s": ["a fox", "a fox and a dog, a dog", "fox"], "lang": ["de", "en", "de"], "v": [[0.0, 4.0]] * 3}
    table = lance_sql.write(rows, tmp_path / "t.lance", schema=pa.schema(
        [("s", pa.string()), ("lang", pa.string()), ("v", pa.list_(pa.float32(), 2))]
    ))  # fmt: skip
    found = table.search(text="fox", text_column="s", filter="lang = 'de'")
    assert "Only rows where lang = 'de'" in text_of(found.to_html())
    whole = table.search(text="fox", text_column="s")
    assert "Only rows where" not in text_of(whole.to_html())
    for scan, name in ((whole, "_score"), (table.search([0.0, 0.0], column="v"), "_distance")):
        values = scan.to_table()[name].to_pylist()
        page = scan.to_html()
        assert f"bars show the {name[1:]}, from 0" in page
        widths = [float(width) for width in re.findall(r'<rect class="f-live" width="([0-9.]+)"', page)]
        assert widths == pytest.approx([100 * value / max(values) for value in values], abs=0.01)
    same = table.search([0.0, 4.0], column="v").to_html()
    assert "bars show" not in same
    assert "f-live" not in same.partition("<body")[2]
