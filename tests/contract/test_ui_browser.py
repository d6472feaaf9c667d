"""Runs in a real browser: from the index to trades, a search followed to its end, hostile texts."""

import shutil
from contextlib import contextmanager
from importlib.resources import files

import pytest

from optimizer.report.run import Single
from optimizer.run.purposes import SHOW, restore_task
from optimizer.search.generation import final_front
from optimizer.store import RunStore
from optimizer.store.labels import change_labels
from optimizer.store.listing import list_runs
from tests.support.browser import PATIENCE_MS, begin_page
from tests.support.hostile import forge
from tests.support.runs import record_run
from tests.support.viewing import GrowingRun, serving

pytestmark = pytest.mark.slow

MARKUP = "<img src=x onerror=alert(1)><script>alert(2)</script>"

AXE = """axe.run(document, {iframes: false}).then(({ violations }) =>
    violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html)]))"""
"""Rules that a page breaks, each with some of its places."""


@pytest.fixture
def runs(tmp_path_factory, run_path):
    """A folder with a copy of a small run."""
    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(run_path, folder / "first")
    return folder


@pytest.fixture(scope="module")
def run_path(tmp_path_factory):
    """A small run on the sample."""
    return record_run(tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def asker(runs):
    """A server of that folder."""
    with serving(runs) as asking:
        yield asking


@contextmanager
def visiting(chromium, asker, path="/", *, width=1440, scheme="light"):
    """A page of the server, which asks no other host."""
    own = (f"http://{asker.host}/", "data:", "blob:", "about:")
    with begin_page(chromium, own, width=width, scheme=scheme) as page:
        page.goto(asker.address)
        assert page.url == f"http://{asker.host}/"
        if path != "/":
            page.goto(f"http://{asker.host}{path}")
        page.wait_for_selector("html[data-ready=yes]")
        yield page


def wait_until(page, is_so):
    """Let a page go on until something is so; its policy forbids to wait within it."""
    for _ in range(PATIENCE_MS // 50):
        if is_so():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it never was so")


def press_until(page, key, selector):
    """Press a key until an element has the focus."""
    for _ in range(60):
        page.keyboard.press(key)
        if page.evaluate("text => document.activeElement?.matches(text)", selector):
            return
    raise AssertionError(f"{key} never leads to {selector}")


def test_keys_lead_from_the_index_to_trades(chromium, asker, runs):
    """Search, sort and open by keyboard; the report has the pick's trades, and keeps a note."""
    shutil.copytree(runs / "first", runs / "second")
    change_labels(runs / "second", add=["other"])
    with visiting(chromium, asker, width=390, scheme="dark") as page:
        rows = page.locator("#runs tbody tr")
        wait_until(page, lambda: rows.count() == 2)
        page.locator("#search").focus()
        page.keyboard.type("OTHER")
        assert rows.count() == 1
        assert page.inner_text("#count").startswith("1 of 2 runs. Of 1 search")
        for text, count, is_read in (
            ("trades > 0", 1, True), ("drawdown<-1%", 0, True), ("sharpe > 1", 1, False)
        ):  # fmt: skip
            page.fill("#where", text)
            assert rows.count() == count
            assert ("is no comparison of" in page.inner_text("#count")) is not is_read
        page.fill("#where", "")
        press_until(page, "Tab", "th[data-column='7'] button")
        page.keyboard.press("Enter")
        assert page.get_attribute("th[data-column='7']", "aria-sort") == "descending"
        press_until(page, "Tab", "#runs tbody a")
        page.keyboard.press("Enter")
        report = page.frame_locator("#report")
        report.locator("html[data-ready=yes]").wait_for()
        assert report.locator("#trade-table tbody tr").count() > 1
        report.locator("#front-table tbody tr").last.focus()
        page.keyboard.press("Enter")
        assert report.locator("#chosen").inner_text().startswith("Member ")
        page.locator("#labels summary").focus()
        page.keyboard.press("Enter")
        page.fill("#note", "seen")
        page.keyboard.press("Enter")
        wait_until(page, lambda: page.inner_text("#labels-said") == "Kept.")
        page.fill("#member", "1")
        page.keyboard.press("Enter")
        page.frame_locator("#report[src$='member=1']").locator("html[data-ready=yes]").wait_for()
    assert [run.note for run in list_runs(runs)] == ["", "seen"]


def test_a_search_is_followed_to_its_end_in_two_tabs(chromium, asker, runs):
    """Both pages grow with it; a member's trades are the engine's; at the end stands the report."""
    growing = GrowingRun(runs / "first", runs, "growing")
    growing.grow(1)
    with (
        visiting(chromium, asker, "/run/growing") as page,
        visiting(chromium, asker, "/run/growing", width=390, scheme="dark") as other,
    ):
        assert page.inner_text("#headline") == "Generation 1 of 3"
        volume = page.locator('figure[data-chart="hypervolume"]')
        volume.locator("summary").focus()
        page.keyboard.press("Enter")
        wait_until(page, lambda: volume.locator("tbody tr").count() == 2)
        assert volume.locator("th").all_inner_texts() == ["series", "generation", "hypervolume"]
        growing.grow(2)
        for tab in (page, other):
            wait_until(tab, lambda: tab.inner_text("#headline") == "Generation 2 of 3")  # noqa: B023
            assert tab.locator("figure[data-chart=front] .main-svg").count()
        assert volume.locator("tbody tr").count() == 3
        page.locator("#members tbody button").first.focus()
        page.keyboard.press("Enter")
        candidate = page.frame_locator("#candidate")
        candidate.locator("html[data-ready=yes]").wait_for()
        with RunStore.open(growing.path) as store:
            front = final_front(store.last_generation())
            genome = front.genomes[front.objectives[:, 0].argmin()]
            expected = len(Single(restore_task(store, SHOW, {}), genome).trades(0))
        count = candidate.locator("#trade-count").inner_text()
        assert count.startswith(f"{expected} of {expected} trades")
        trade = candidate.locator('figure[data-chart="trade"] .main-svg')
        trade.first.wait_for(state="attached")
        growing.finish()
        page.wait_for_selector("html[data-phase=judging]")
        growing.close()
        page.locator("#to-report").click()
        for tab in (page, other):
            tab.frame_locator("#report").locator("html[data-ready=yes]").wait_for()
            assert tab.is_hidden("#live")


def test_texts_of_a_run_stay_texts(chromium, asker, runs):
    """Names, notes and symbols with markup are read, and nothing of them runs."""

    def change(payload):
        payload["run"] |= {"strategy": f"{MARKUP}\u202e", "data": MARKUP, "symbols": [MARKUP]}

    shutil.copytree(runs / "first", runs / "second")
    forge(runs / "second", "header", change)
    change_labels(runs / "second", note=MARKUP)
    with visiting(chromium, asker) as page:
        wait_until(page, lambda: page.locator("#runs tbody tr").count() == 2)
        assert MARKUP in page.inner_text("#runs")
        assert page.locator("img, #runs script").count() == 0
        assert "\u202e" not in page.content()
    for path in ("/run/second", "/compare?run=first&run=second"):
        with visiting(chromium, asker, path) as page:
            assert page.locator("img").count() == 0
            assert "\u202e" not in page.content()
            assert "alert" not in page.evaluate("[...document.scripts].map(s => s.text).join()")
            for chart in ("equity", "front") if "compare" in path else ():
                # Numbers of a chart are a table too: a row a point, with the name of its run.
                figure = page.locator(f'figure[data-chart="{chart}"]')
                figure.locator("summary").focus()
                page.keyboard.press("Enter")
                wait_until(page, lambda: figure.locator("tbody tr").count() > 1)  # noqa: B023
                names = figure.locator("tbody td:first-child").all_inner_texts()
                assert set(names) == {"first", "second"}


def test_every_page_can_be_used_by_all(chromium, asker, runs):
    """No page has a finding of axe, light or dark, and none is wider than its window.

    Axe comes with `pip install '.[dev]'`.
    """
    kept = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is missing")
    axe = (files(kept) / "axe.min.js").read_text(encoding="utf-8")
    shutil.copytree(runs / "first", runs / "second")
    pages = {
        "/": "#runs tbody tr", "/run/first": "#report", "/run/first/report": "html[data-ready=yes]",
        "/compare?run=first&run=second": "html[data-ready=yes]", "/today": "main",
        "/forecasts": "main", "/scan": "main",
    }  # fmt: skip
    found = {}
    for width, scheme in ((1440, "light"), (390, "dark")):
        with visiting(chromium, asker, width=width, scheme=scheme) as page:
            for path, selector in pages.items():
                page.goto(f"http://{asker.host}{path}")
                page.locator(selector).first.wait_for()
                assert page.evaluate("document.documentElement.scrollWidth") == width, path
                page.evaluate(axe)
                violations = page.evaluate(AXE)
                found |= {(path, scheme, name): at for name, at in violations}
    assert found == {}
