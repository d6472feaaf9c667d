"""A page opened in a real browser without a screen, and everything that went wrong in it."""

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
]

PATIENCE_MS = 120_000  # a busy machine draws in three dimensions without a graphics card


@dataclass
class Opened:
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

    def draw_all(self):
        """Scroll through the page, so that every chart is drawn."""
        self.page.evaluate(
            """async () => {
                for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight / 2) {
                    scrollTo({ top: y, behavior: "instant" });
                    await new Promise((done) => setTimeout(done, 30));
                }
                // On a busy machine the page may be past a chart before that is drawn.
                for (let tries = 0; tries < 1200; tries++) {
                    const plots = [...document.querySelectorAll("figure:not([hidden]) .plot")];
                    const left = plots.find((plot) => !plot.querySelector(".main-svg"));
                    if (!left) break;
                    left.scrollIntoView({ behavior: "instant" });
                    await new Promise((done) => setTimeout(done, 50));
                }
            }"""
        )


@pytest.fixture(scope="session")
def chromium():
    """A browser; tests that need one are skipped, with the reason, where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, *, width=1280, height=900, scheme="light", fragment=""):
    """Open a file and wait until its script is done.

    Args:
        browser: As `chromium` gives it.
        path: The file.
        width: Of the window, pixels.
        height: Likewise.
        scheme: ``light`` or ``dark``.
        fragment: What follows the address.
    """
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    found = Opened(page)
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on(
        "console",
        lambda message: found.errors.append(message.text) if message.type == "error" else None,
    )
    address = path.resolve().as_uri() + fragment
    page.on(
        "request",
        lambda asked: (
            found.requests.append(asked.url)
            if asked.url != address and not asked.url.startswith("data:")
            else None
        ),
    )
    page.goto(address)
    page.wait_for_selector("html[data-ready=yes]")
    yield found
    context.close()
