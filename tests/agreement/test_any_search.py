"""Recipes of docs/howto/any_search.md, as they are copied from it, with the real programs."""

import re
from pathlib import Path

import pytest

import optimizer
from tests.support import commands
from tests.support.commands import write_market
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "howto" / "any_search.md"

BLOCK = re.compile(r"### ([^\n]+)\n(?:(?!###).)*?```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """Function that runs the program below a heading, with some texts changed; its variables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TQDM_DISABLE", "1")
    write_market(tmp_path / "bars.csv", 1500)
    programs = dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))

    def run(heading, *changes):
        text = programs[heading]
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        if heading == "backtesting.py":
            # Its processes import the program.
            Path("program.py").write_text(text)
            ended = commands.run(cwd=tmp_path, program=("program.py",))
            assert ended.code == 0, ended.err
            return {}
        made = {"__name__": "recipe"}
        exec(compile(text, f"{heading}.py", "exec"), made)
        return made

    return run


def test_optuna_searches_every_market(recipe):
    """TPE, and a verdict on its results."""
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made = recipe("Optuna", ("count=19", "count=2"), ("n_trials=30", "n_trials=3"))
    assert sorted(made["results"]) == ["m001", "m002", "m003"]
    verdict = optimizer.null_judge("nulls", made["results"])
    assert (verdict.looks, verdict.null.planned) == (1, 2)


def test_backtesting_py_writes_results(recipe):
    """`optimize`, and a file that is judged."""
    pytest.importorskip("backtesting")
    optimizer.null_markets("nulls", data="csv:bars.csv", count=2)
    recipe("backtesting.py")
    assert optimizer.null_judge("nulls", Path("results.csv")).null.planned == 2


def test_an_agent_searches_through_its_tools(recipe):
    """The official client, a server a market; one rule and one market stand for all."""
    pytest.importorskip("mcp")
    folder = optimizer.null_markets("nulls", data="csv:bars.csv", count=1)
    made = recipe(
        "An agent", ('"population": 16, "generations": 3', '"population": 8, "generations": 1')
    )
    del made["RULES"][1:]
    first, other = folder.markets
    results = made["search_all"]([first])
    assert list(results) == [first]
    assert results[first] >= 0
    assert optimizer.null_judge("nulls", results | {other: 0.0}).null.planned == 1
    assert (Path("agent") / first / "searches.json").stat().st_size > 2
