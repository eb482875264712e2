"""Pages in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.values.html.made import make

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

KINDS = (
    "audit",
    "contract",
    "cursors",
    "diff",
    "feed",
    "history",
    "layout",
    "publication",
    "search",
    "search changes",
    "stories",
    "verify",
)
PHONE, DESK = 375, 1100
PAPER = 718
"""Width of a page of A4 with margins of 1 cm."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no browser: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The address of each page."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for kind, page in make(folder).items():
        path = folder / f"{kind}.html"
        path.write_text(page, encoding="utf-8")
        found[kind] = path.as_uri()
    return found


@contextmanager
def opened(browser: Browser, address: str, *, width: int = DESK, scheme: Any = "light") -> Iterator[Page]:
    """A page, whose console has nothing to complain about, and which asks for nothing else."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(f"dialog {dialog.message}"))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    yield page
    context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith("data:")] == [address]


@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_needs_no_sideways_scrolling(browser: Browser, files: Mapping[str, str], kind: str) -> None:
    with opened(browser, files[kind], width=PHONE) as page:
        for details in page.locator("details").all():
            details.evaluate("each => each.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE
        sizes = page.evaluate(
            "[...document.querySelectorAll('button, summary')].map(e => e.getBoundingClientRect().height)"
        )
        assert min(sizes) >= 32
        smallest = page.evaluate(
            "Math.min(...[...document.querySelectorAll('main *')].map(e => parseFloat(getComputedStyle(e).fontSize)))"
        )
        assert smallest >= 11


CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const f = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  let least = [99, ''];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest('script, style, .hidden, .skip, title') || !element.getClientRects().length) continue;
    let below = element, back = [0, 0, 0, 0];
    while (below && back[3] === 0) { back = rgb(getComputedStyle(below).backgroundColor); below = below.parentElement; }
    const a = light(rgb(getComputedStyle(element).color)), b = light(back);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least[0]) least = [ratio, element.outerHTML.slice(0, 200)];
  }
  return least;
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_text_can_be_read_in_both_schemes(browser: Browser, files: Mapping[str, str], kind: str) -> None:
    with opened(browser, files[kind]) as page:
        for scheme, expected in (("light", "rgb(246, 247, 249)"), ("dark", "rgb(15, 18, 22)")):
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == expected
            ratio, where = page.evaluate(CONTRAST)
            assert ratio >= 4.5, where


@pytest.mark.parametrize("kind", KINDS)
def test_paper_shows_all_of_a_table_in_dark_ink(browser: Browser, files: Mapping[str, str], kind: str) -> None:
    with opened(browser, files[kind], width=PAPER, scheme="dark") as page:
        page.evaluate("document.body.dataset.theme = 'dark'")
        page.emulate_media(media="print", color_scheme="dark")
        ratio, where = page.evaluate(CONTRAST)
        assert ratio >= 4.5, where
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
        cut = "[...document.querySelectorAll('.scroll, pre')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        assert page.evaluate(cut) == 0
        assert not any(button.is_visible() for button in page.get_by_role("button").all())


def test_the_reader_chooses_colours(browser: Browser, files: Mapping[str, str]) -> None:
    with opened(browser, files["layout"], scheme="dark") as page:
        button = page.get_by_role("button", name="Colors")
        button.click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 249)"
        assert button.inner_text() == "Colors: light"
        button.click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 18, 22)"


def test_versions_open_and_are_filtered(browser: Browser, files: Mapping[str, str]) -> None:
    with opened(browser, files["history"]) as page:
        assert page.get_by_text("rows", exact=True).first.is_hidden()
        page.locator("summary").first.click()
        assert page.locator("details[open]").count() == 1
        expand = page.get_by_role("button", name="Expand all")
        expand.click()
        assert page.locator("details:not([open])").count() == 0
        page.get_by_role("button", name="Collapse all").click()
        assert page.locator("details[open]").count() == 0
        chosen = page.get_by_role("button", name="insert 4")
        chosen.click()
        assert chosen.get_attribute("aria-pressed") == "true"
        assert page.locator("[data-kind]:visible").count() == 4
        assert page.get_by_role("status").inner_text() == "4 shown"
        page.get_by_role("button", name="All 9").click()
        assert page.locator("[data-kind][hidden]").count() == 0


def test_figures_lead_to_their_rows(browser: Browser, files: Mapping[str, str]) -> None:
    with opened(browser, files["diff"], width=PHONE) as page:
        page.get_by_role("link", name="rows inserted").click()
        # asked from here: the page's policy lets nobody wait in it by a text that is code
        for _ in range(200):
            top = page.evaluate("document.getElementById('inserted').getBoundingClientRect().top")
            if -1 < top < 800:
                break
            page.wait_for_timeout(25)
        assert -1 < top < 800  # scrolled to a part of a pixel


FOCUSED = """() => {
  const e = document.activeElement;
  if (e === document.body) return null;
  const all = [...document.querySelectorAll('a[href], button, summary, [tabindex="0"]')];
  return all.filter((each) => each.checkVisibility()).indexOf(e);
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_the_keyboard_reaches_every_control_in_order(browser: Browser, files: Mapping[str, str], kind: str) -> None:
    with opened(browser, files[kind]) as page:
        count = page.evaluate(
            "[...document.querySelectorAll('a[href], button, summary, [tabindex=\"0\"]')]"
            ".filter((each) => each.checkVisibility()).length"
        )
        reached = []
        for _ in range(count):
            page.keyboard.press("Tab")
            reached.append(page.evaluate(FOCUSED))
        assert reached == list(range(count))
        page.locator("a.skip").focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_details_open_with_the_keyboard(browser: Browser, files: Mapping[str, str]) -> None:
    with opened(browser, files["history"]) as page:
        page.locator("summary").first.focus()
        page.keyboard.press("Enter")
        assert page.locator("details[open]").count() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_controls_and_landmarks_have_names(browser: Browser, files: Mapping[str, str], kind: str) -> None:
    with opened(browser, files[kind]) as page:
        assert page.get_by_role("main").count() == page.get_by_role("banner").count() == 1
        assert page.get_by_role("heading", level=1).count() == 1
        lines = [line.strip().removeprefix("- ") for line in page.locator("body").aria_snapshot().splitlines()]
        controls = [line for line in lines if line.startswith(("button", "link", "region", "img"))]
        assert controls
        assert [line for line in controls if '"' not in line] == []
