"""Recipes of the pages run as they stand: commands one by one, strategies as files of the house."""

import doctest
import re
import shlex

import pytest

from tests.support.commands import write_market
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

PAGE = "README.md"
STRATEGIES = ROOT / "docs" / "howto" / "strategy.md"
NEEDS_A_KEY = "polygon:"
FEW = ("--population", "16", "--generations", "2")


def list_commands():
    """Commands in the blocks of the first page that a person copies."""
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / PAGE).read_text(), re.DOTALL)
    lines = [part for block in blocks for line in block.splitlines() for part in line.split(" && ")]
    begin = "python -m optimizer "
    return [line for line in lines if line.startswith(begin) and NEEDS_A_KEY not in line]


def test_the_strategy_of_the_front_page_runs_from_a_file(command, tmp_path):
    """As it stands there, in a file of its own."""
    examples = doctest.DocTestParser().get_examples((ROOT / "README.md").read_text())
    parts = [example.source for example in examples]
    first = next(k for k, part in enumerate(parts) if "strategy.words" in part)
    (tmp_path / "mine.py").write_text("".join(parts[first : first + 3]))
    market = write_market(tmp_path / "bars.csv")
    outcome = command("strategies", "check", "mine.py", "--data", market)
    assert outcome.code == 0, outcome.err
    assert "pullback: Buys a dip" in outcome.out


@pytest.mark.parametrize("library", ["numpy", "talib", "pandas_ta_classic"])
def test_an_indicator_of_ones_own_runs_from_its_file(command, tmp_path, library):
    """As the page has it, in ten lines; the first goes all the way to a verdict."""
    pytest.importorskip(library, reason=f"{library} is not installed (extra 'dev')")
    blocks = re.findall(r"```python\n(import .*?)```", STRATEGIES.read_text(), re.DOTALL)
    (text,) = [block for block in blocks if f"import {library}" in block]
    assert len([line for line in text.splitlines() if line]) <= 10
    (tmp_path / "my_rsi.py").write_text(text)
    market = write_market(tmp_path / "bars.csv")
    outcome = command("strategies", "check", "my_rsi.py", "--data", market)
    assert outcome.code == 0, outcome.err
    assert "0 mismatches" in outcome.out
    if library == "numpy":
        line = "evolve --strategy my_rsi.py --judge"
        assert f"python -m optimizer {line}\n" in STRATEGIES.read_text()
        outcome = command(*line.split(), "--data", market, *FEW, "--null", "3", "--json")
        assert outcome.json["judgement"]["verdict"]["sentence"]


@pytest.mark.parametrize("line", list_commands())
def test_a_command_of_the_first_page_runs_as_it_stands(command, tmp_path, line, monkeypatch):
    """With bars under the name that it uses, and a run where it is about the latest."""
    write_market(tmp_path / "bars.csv")
    # Few null searches and generations: the rest would be more of the same.
    monkeypatch.setattr("optimizer.evidence.judge.DEFAULT_SEARCHES", 5)
    if line.split()[3] == "judge":
        flags = ("--population", 8, "--generations", 1, "--no-report", "--no-judge")
        assert command("evolve", "--holdout", "20%", *flags).code == 0
    if "pullback.py" in line:
        assert command("strategies", "new", "pullback").code == 0
    outcome = command(*shlex.split(line)[3:], *(FEW if line.split()[3] == "evolve" else ()))
    assert outcome.code == 0, outcome.err
