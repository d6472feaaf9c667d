"""A portfolio from the command line: its table, its page, which a browser draws, and programs."""

import re
from pathlib import Path

import pytest

import optimizer
from optimizer.report.portfolio import build_portfolio_page
from tests.support.browser import open_page
from tests.support.runs import record_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with one run on the sample."""
    folder = tmp_path_factory.mktemp("runs")
    record_run(folder)
    return folder


@pytest.fixture(scope="module")
def result(runs):
    """Two members with room for one position."""
    return optimizer.portfolio(["latest:0", "latest:1"], runs=runs, max_positions=1)


@pytest.fixture(scope="module")
def page_file(result, tmp_path_factory):
    """Their page."""
    path = tmp_path_factory.mktemp("page") / "portfolio.html"
    path.write_text(build_portfolio_page(result), encoding="utf-8")
    return path


def test_tables_need_no_script_and_lines_are_the_accounts(page_file, result):
    """Members, their trades, skipped signals, correlations, falls and notes; JSON has no lines."""
    static = page_file.read_text(encoding="utf-8").partition('<script type="text/plain"')[0]
    assert static.count(":0</th>") == 3
    for words in ("no grade of its own", "skipped", "max positions", "Worst drawdowns"):
        assert words in static
    (days,) = set(re.findall(r"\((\d+) days\)", static))
    assert int(days) > 300
    ends = [float(line.value[-1]) - 1.0 for line in result.lines]
    alone = [component.alone["total_return"] for component in result.components]
    assert ends == [result.metrics["total_return"], *alone]
    assert {"lines", "bar_times"}.isdisjoint(result.payload())


def test_the_command_writes_page_and_programs(command, runs):
    """One program a component, each in a folder of its own."""
    flags = ("portfolio", "latest:0", "latest:1", "--runs", runs)
    outcome = command.succeed(
        *flags, "--page", "one.html", "--export", "programs", "--as", "freqtrade"
    )
    assert "report one.html" in outcome.err
    assert "components" in Path("one.html").read_text(encoding="utf-8")
    for number in range(2):
        assert f"program programs/{number}/exported.py" in outcome.err
        text = Path(f"programs/{number}/exported.py").read_text(encoding="utf-8")
        assert f"Member {number} of run" in text


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_a_browser_draws_it(chromium, page_file, width, scheme):
    """Both charts, nothing asked for, and no page wider than its window."""
    with open_page(chromium, page_file, width=width, scheme=scheme) as page:
        page.draw_all()
        assert page.page.locator("figure .main-svg").count() >= 2
        page.page.click("#theme")
