"""The page of a portfolio: what stands on it, and that a browser draws it."""

import re
from pathlib import Path

import pytest

import optimizer
from optimizer.report.portfolio import write_portfolio_page
from tests.support.browser import open_page
from tests.support.runs import record_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with one run on the sample."""
    folder = tmp_path_factory.mktemp("runs")
    record_run(folder)
    return folder


@pytest.fixture(scope="module")
def page_file(runs, tmp_path_factory):
    """The page of two members with room for one position."""
    path = tmp_path_factory.mktemp("page") / "portfolio.html"
    result = optimizer.portfolio(["latest:0", "latest:1"], runs=runs, max_positions=1)
    return write_portfolio_page(result, path)


def test_tables_need_no_script(page_file):
    """Members, their trades, what was skipped, correlations, falls and notes."""
    text = page_file.read_text(encoding="utf-8")
    static = text.partition('<script type="text/plain"')[0]
    assert static.count(":0</th>") == 3
    for words in (
        "no grade of its own",
        "signals skipped: the account was full (--max",
        "max positions",
        "Worst drawdowns",
    ):
        assert words in static
    (days,) = set(re.findall(r"\((\d+) days\)", static))
    assert int(days) > 300
    assert "default-src &#39;none&#39;" in static


def test_lines_are_the_account_and_each_alone(runs):
    """Equity of the last is what the metrics say; JSON has no lines."""
    result = optimizer.portfolio(["latest:0", "latest:1"], runs=runs, max_positions=1)
    ends = [float(line.value[-1]) - 1.0 for line in result.lines]
    alone = [component.alone["total_return"] for component in result.components]
    assert ends == [result.metrics["total_return"], *alone]
    assert {"lines", "bar_times"}.isdisjoint(result.payload())


def test_the_command_writes_it(command, runs):
    """Beside its table, with its path."""
    outcome = command("portfolio", "latest:0", "latest:1", "--runs", runs, "--report", "one.html")
    assert outcome.code == 0
    assert "report one.html" in outcome.err
    assert "Correlation of" in outcome.out
    assert "components" in Path("one.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("cash", ["0", "-5", "nan", "inf"])
def test_cash_is_an_amount_of_money(command, runs, cash):
    """Refused by its flag before anything is traded."""
    outcome = command("portfolio", "latest:0", "--runs", runs, "--cash", cash)
    assert (outcome.code, outcome.error) == (2, f"--cash {cash}: an amount of money above 0")


def test_limits_are_named_as_flags(command, runs):
    """As every other command names them."""
    outcome = command("portfolio", "latest:0", "--runs", runs, "--max-positions", "0")
    assert outcome.code == 2
    assert outcome.error == "--max-positions must be a whole number from 1 to 1,000,000, got 0"


def test_the_command_writes_programs(command, runs):
    """One a component, each in a folder of its own; limits are refused before any work."""
    flags = ("latest:0", "latest:1", "--runs", runs, "--export", "programs", "--as", "freqtrade")
    outcome = command("portfolio", *flags)
    assert outcome.code == 0
    for number in range(2):
        assert f"program programs/{number}/exported.py" in outcome.err
        text = Path(f"programs/{number}/exported.py").read_text(encoding="utf-8")
        assert f"Member {number} of run" in text
    assert "what others hold" in command("portfolio", *flags, "--max-positions", "1").error
    assert "go together" in command("portfolio", *flags[:-2]).error
    assert "--risk 2: a share" in command("portfolio", *flags, "--risk", "2").error
    assert "there is no run 'latest:x'" in command("portfolio", "latest:x", *flags).error


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_a_browser_draws_it(chromium, page_file, width, scheme):
    """Both charts, nothing asked for, and no page wider than its window."""
    with open_page(chromium, page_file, width=width, scheme=scheme) as page:
        page.draw_all()
        assert page.page.locator("figure .main-svg").count() >= 2
        assert page.page.evaluate("document.documentElement.scrollWidth") == width
        page.page.click("#theme")
        assert not page.errors
        assert not page.requests
