"""docs/agreement.md and the line of README say what the suites of this folder find.

``python -m pytest tests/agreement/test_page.py --bless`` writes the tables anew.
"""

import re

import pytest
import talib

from tests.agreement import (
    test_backtesting_py,
    test_chart_values,
    test_entries,
    test_script_lists,
    test_talib,
    test_trade_lists,
)
from tests.support.agreement import render_table
from tests.support.paths import ROOT

PAGE, README = ROOT / "docs" / "agreement.md", ROOT / "README.md"


MADE_WITH = "0.8.2"
"""Version of TA-Lib of which the page speaks; others have other functions."""


@pytest.fixture(scope="module")
def suites(agree_folder, script_folder, real_folder, tmp_path_factory):
    """What each suite finds, by the name of its table."""
    if talib.__version__ != MADE_WITH:
        pytest.skip(f"the page speaks of TA-Lib {MADE_WITH}, this is {talib.__version__}")
    pytest.importorskip("backtesting", reason="not installed (extra 'dev')")
    return {
        "lists": test_trade_lists.measure(agree_folder, tmp_path_factory.mktemp("bars")),
        "scripts": test_script_lists.measure(script_folder),
        "values": test_chart_values.measure(agree_folder),
        "talib": test_talib.measure(real_folder),
        "backtesting": test_backtesting_py.measure(),
        "entries": test_entries.measure(),
    }


def render_suites(suites):
    """The table of all suites."""
    head = ("suite", "of", "cases", "sayable", "equal", "what differs, or is missing")
    rows = [
        (suite.name, suite.unit, *(f"{n:,}" for n in (suite.cases, suite.sayable, suite.equal)),
         suite.rule)
        for suite in suites.values()
    ]  # fmt: skip
    return render_table(head, rows)


def render_line(suites):
    """The totals in one line."""
    messages = [
        f"{suite.equal:,} of {suite.sayable:,} {suite.unit} ({suite.name})"
        for suite in suites.values()
    ]
    return f"Equal to what others say: {'; '.join(messages)}"


def replace_table(text, name, table):
    """A page with another table behind the mark of its name."""
    mark = f"<!-- {name} -->\n"
    assert text.count(mark) == 1, name
    return re.sub(f"(?<={re.escape(mark)})(\\|.*\n)*", lambda _: f"{table}\n", text)


def test_tables_are_what_the_suites_find(suites, request):
    """Each behind the mark of its name."""
    tables = {"suites": render_suites(suites)}
    tables |= {name: render_table(suite.head, suite.rows) for name, suite in suites.items()}
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables.items():
        text = replace_table(text, name, table)
    if request.config.getoption("bless"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text


def test_readme_has_the_totals(suites):
    """In one line."""
    assert render_line(suites) in README.read_text(encoding="utf-8")
