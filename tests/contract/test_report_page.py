"""The report in a real browser: it draws everything, asks for nothing, and answers clicks."""

import pytest

from optimizer import load_run
from optimizer.report import write_report
from tests.support.browser import chromium, opened
from tests.support.runs import record_run

__all__ = ["chromium"]

SECTIONS = ("verdict", "front", "individual", "trades", "sensitivity", "search")
CHARTS = (
    "front",
    "front3d",
    "parallel",
    "equity",
    "price",
    "trade",
    "distribution",
    "reason",
    "month",
    "weekday",
    "hour",
    "costs",
    "heat",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run on the sample with more than one member."""
    return load_run(str(record_run(tmp_path_factory.mktemp("runs"), population=24, generations=4)))


@pytest.fixture(scope="module")
def page_file(run, tmp_path_factory):
    """Its report."""
    return write_report(run, tmp_path_factory.mktemp("pages") / "report.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_draws_everything_and_asks_for_nothing(chromium, page_file, width, scheme):
    """No error, no request, every section and chart is there, nothing is wider than the window."""
    with opened(chromium, page_file, width=width, scheme=scheme) as found:
        found.draw_all()
        found.page.wait_for_timeout(500)
        assert found.errors == []
        assert found.requests == []
        for section in SECTIONS:
            assert found.page.locator(f"#{section}").is_visible(), section
        for chart in CHARTS:
            place = found.page.locator(f'figure[data-chart="{chart}"] .plot .main-svg')
            assert place.count() > 0, chart
        assert found.page.evaluate("document.documentElement.scrollWidth") == width


def test_a_click_on_the_front_shows_the_trades_of_that_member(chromium, run, page_file):
    """The point of a member leads to its metrics and its trades."""
    member = len(run.front) - 1
    with opened(chromium, page_file) as found:
        found.draw_all()
        found.page.wait_for_timeout(500)
        points = found.page.locator('figure[data-chart="front"] .points path')
        assert points.count() == len(run.front)
        points.nth(member).scroll_into_view_if_needed()
        box = points.nth(member).bounding_box()
        found.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        found.page.wait_for_function(f"location.hash === '#member={member}'")
        trades = run.trades(member)
        assert found.text("#chosen").startswith(f"Member {member}")
        assert found.text("#trade-count").startswith(f"{len(trades)} of {len(trades)} trades")
        titles = found.texts("#trade-table thead th")
        cells = found.texts("#trade-table tbody tr:first-child td")
        first = dict(zip(titles, cells, strict=True))
        assert first["entered"] == str(trades["entry_time"][0])[:16]
        assert first["R"] == f"{trades['r'][0]:.3f}"
        assert found.errors == []
