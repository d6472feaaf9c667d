"""A page opened in a real browser without a screen, and everything that went wrong in it."""

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader",
]  # fmt: skip

PATIENCE_MS = 120_000  # a busy machine draws in three dimensions without a graphics card


@dataclass
class Page:
    """A page and what was heard of it.

    Args:
        page: Of playwright.
        errors: Console errors and uncaught exceptions.
        requests: Addresses that were asked for, the page itself not counted.
    """

    page: object
    errors: list = field(default_factory=list)
    requests: list = field(default_factory=list)

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
def open_page(browser, path, *, width=1280, height=900, scheme="light", fragment="", deep=False):
    """Open a file and wait until its script is done.

    Args:
        browser: As `chromium` gives it.
        path: The file.
        width: Of the window, pixels.
        height: Likewise.
        scheme: ``light`` or ``dark``.
        fragment: What follows the address.
        deep: Whether it draws three dimensions.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
    )
    if not deep:
        context.add_init_script(FLAT)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    opened_page = Page(page)
    page.on("pageerror", lambda error: opened_page.errors.append(str(error)))
    page.on(
        "console",
        lambda message: (
            opened_page.errors.append(message.text) if message.type == "error" else None
        ),
    )
    address = path.resolve().as_uri() + fragment
    page.on(
        "request",
        lambda request: (
            opened_page.requests.append(request.url)
            if request.url != address and not request.url.startswith("data:")
            else None
        ),
    )
    try:
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        yield opened_page
    finally:
        context.close()
