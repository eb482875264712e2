"""The site of the documents: its links, its list of pages, and what its search finds for the words of a newcomer."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT

BESIDE = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "examples").rglob("README.md"))]
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#([^)\s]+))?\)")


# a question, and the page that has to be among the first three hits
QUESTIONS = {
    "how do I see what changed": "what-changed.html",
    "who changed a row": "what-changed.html",
    "undo a delete": "writing.html",
    "read an old version": "python.html",
    "why is my query slow": "indices.html",
    "add a column": "writing.html",
    "upsert": "writing.html",
    "concurrent writers": "writing.html",
    "remove old versions": "on-call.html",
    "free disk space": "on-call.html",
    "fix a corrupt table": "on-call.html",
    "retention": "operations.html",
    "GDPR": "operations.html",
    "read from S3": "object-stores.html",
    "use in Spark": "pyspark.html",
    "PySpark": "pyspark.html",
    "compare two tables in CI": "testing-jobs.html",
    "vector search": "search.html",
    "upgrade": "limits.html",
    "install": "start.html",
}
# words of other tools, whose page has to be among the hits
WORDS = ("CDC", "rollback", "vacuum", "time travel", "schema evolution", "dbt")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_site_is_built_without_a_warning(site: Path) -> None:
    reference = (site / "reference" / "python.html").read_text()
    assert "when_not_matched_by_source_delete" in reference
    assert "assert_table_equal" in reference


def test_pages_find_each_other_from_disk(site: Path) -> None:
    for page in site.rglob("*.html"):
        for target in re.findall(r'href="([^"#?]+)', page.read_text()):
            if "://" not in target and not target.startswith(("mailto:", "data:")) and page.name != "404.html":
                assert (page.parent / target).is_file(), f"{page.name}: {target}"


def test_llms_txt_lists_every_page(site: Path) -> None:
    navigation = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(re.findall(r"\(([\w/-]+\.md)\): \S", (ROOT / "docs" / "llms.txt").read_text())) == sorted(navigation)
    for page in re.findall(r"\(([^)]+)\): \S", (site / "llms.txt").read_text()):
        assert (site / page).is_file(), page


def test_every_page_has_a_description_of_its_own(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    descriptions = [re.findall(r'<meta name="description" content="([^"]+)"', page.read_text()) for page in pages]
    assert all(len(each) == 1 for each in descriptions)
    assert len({each[0] for each in descriptions}) == len(pages)


def _node() -> str | None:
    """Returns a JavaScript interpreter: that of the system, or the one that Playwright contains."""
    found = shutil.which("node")
    if found is None and (package := importlib.util.find_spec("playwright")) is not None and package.origin:
        bundled = Path(package.origin).parent / "driver" / "node"
        found = str(bundled) if bundled.is_file() else None
    return found


@pytest.fixture(scope="module")
def hits(site: Path) -> dict[str, list[str]]:
    """The pages that the search of the site lists, best first, for each question and word."""
    node = _node()
    if node is None:
        pytest.skip("there is no JavaScript: pip install playwright")
    done = subprocess.run(
        [node, str(Path(__file__).with_name("search_site.js")), str(site)],
        input=json.dumps([*QUESTIONS, *WORDS]),
        capture_output=True,
        text=True,
        check=True,
    )
    pages: dict[str, list[str]] = json.loads(done.stdout)
    return pages


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_search_answers_questions(question: str, hits: dict[str, list[str]]) -> None:
    assert QUESTIONS[question] in hits[question][:3]


@pytest.mark.parametrize("words", WORDS)
def test_the_search_lists_words_of_other_tools(words: str, hits: dict[str, list[str]]) -> None:
    assert "other-words.html" in hits[words]


def test_the_search_works_from_disk(site: Path) -> None:
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no browser: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        # as it is opened from disk, without a server
        page.goto((site / "index.html").as_uri())
        page.locator(".md-search__input").press_sequentially(WORDS[0])
        hit = page.locator(".md-search-result__link").first
        hit.wait_for(timeout=20_000)
        assert "other-words.html" in page.locator(".md-search-result__list").inner_html()
        hit.click()
        page.wait_for_url("**/*.html*")
        assert not errors
        browser.close()


@pytest.mark.parametrize("document", BESIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_other_documents_lead_somewhere(document: Path) -> None:
    for target, anchor in _LINK.findall(document.read_text()):
        if "://" in target:
            continue
        found = document.parent / target
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}, anchor
