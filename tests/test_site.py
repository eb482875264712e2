"""The documents are a site whose links lead somewhere, and so do those of the documents beside it."""

from __future__ import annotations

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


def test_the_search_knows_the_words_of_other_tools(site: Path) -> None:
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no browser: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        for words in ("CDC", "rollback", "vacuum", "time travel", "schema evolution", "dbt"):
            # as it is opened from disk, without a server
            page.goto((site / "index.html").as_uri())
            page.locator(".md-search__input").press_sequentially(words)
            hit = page.locator(".md-search-result__link").first
            hit.wait_for(timeout=20_000)
            assert "other-words.html" in page.locator(".md-search-result__list").inner_html(), words
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
