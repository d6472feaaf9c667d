"""A page in a real browser without a screen, in which nothing may go wrong."""

import shutil
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader",
]  # fmt: skip

PATIENCE_MS = 120_000  # a busy machine draws in three dimensions without a graphics card


@dataclass
class Page:
    """A page of playwright that shows a file of ours."""

    page: object

    def text(self, selector):
        """Visible text of the first element that fits."""
        return self.page.locator(selector).first.inner_text()

    def texts(self, selector):
        """Texts of all elements that fit."""
        return self.page.locator(selector).all_inner_texts()

    def legend(self, chart):
        """Text of a chart's legend."""
        selector = f'figure[data-chart="{chart}"] .legend'
        return self.page.locator(selector).first.text_content()

    def download(self, selector):
        """Text of the file that a click on an element gives."""
        with self.page.expect_download() as awaited:
            self.page.click(selector)
        return awaited.value.path().read_text(encoding="utf-8")

    def draw_all(self):
        """Unfold the page and wait, without scrolling, until all charts are drawn or say why."""
        self.page.eval_on_selector_all(
            "details.more", "all => all.forEach(one => one.setAttribute('open', ''))"
        )
        self.page.wait_for_function(ALL_DRAWN, polling=50)


ALL_DRAWN = """() => {
    const plots = [...document.querySelectorAll("figure:not([hidden]) .plot")];
    return plots.every((plot) => plot.querySelector(".main-svg, .note"));
}"""


@pytest.fixture(scope="session")
def chromium():
    """A browser; tests that need one are skipped, with the reason, where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((program for name in NAMES if (program := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


FLAT = """{
    const own = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind.includes("webgl") ? null : own.call(this, kind, ...rest);
    };
}"""
"""A browser that draws no three dimensions, which takes seconds without a graphics card."""


@contextmanager
def begin_page(browser, own, *, width, scheme, deep=False, offline=False):
    """A page that asks for nothing but `own`, says nothing, and is no wider than its window.

    Args:
        browser: As `chromium` gives it.
        own: Beginnings of addresses that it may ask for.
        width: Of the window, pixels.
        scheme: ``light`` or ``dark``.
        deep: Whether it draws three dimensions.
        offline: Whether there is no network.
    """
    viewport = {"width": width, "height": 900}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, offline=offline)
    if not deep:
        context.add_init_script(FLAT)
    page, heard = context.new_page(), []
    page.set_default_timeout(PATIENCE_MS)
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("dialog", lambda dialog: heard.append(dialog.message) or dialog.dismiss())
    page.on("console", lambda said: said.type == "error" and heard.append(said.text))
    page.on("request", lambda asked: asked.url.startswith(own) or heard.append(asked.url))
    try:
        yield page
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert heard == []
    finally:
        context.close()


@contextmanager
def open_page(browser, path, *, width=1280, scheme="light", deep=False):
    """Open a file and wait until its script is done."""
    address = path.resolve().as_uri()
    own = (address, "data:")
    with begin_page(browser, own, width=width, scheme=scheme, deep=deep, offline=True) as page:
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        yield Page(page)
