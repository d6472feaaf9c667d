"""A strategy's file: found, run as no module, named, and refused in one line."""

import sys
from pathlib import Path

import pytest

from strategy import limits, load_strategy
from strategy.errors import StrategyError
from strategy.files import build_strategy
from strategy.model import from_described
from tests.support import own_words

HEAD = "from strategy.words import *\n"
ONE = "RISING = strategy('Up.', long=close > open, stop=share(0.01))\n"


@pytest.fixture
def write(tmp_path):
    """A function that writes a file and gives its path."""

    def write_strategy(text, name="idea.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write_strategy


def test_a_file_with_one_strategy_needs_no_name(write):
    """It is called as its variable, and keeps the file's text."""
    path = write(HEAD + ONE)
    strategy = load_strategy(path)
    assert (strategy.name, strategy.summary) == ("rising", "Up.")
    assert (strategy.source.path, strategy.source.text) == (path, HEAD + ONE)
    assert len(strategy.source.sha256) == 64
    assert not strategy.source.has_functions
    assert strategy.place == f"{path}:2"
    assert build_strategy(strategy.source.text, "elsewhere.py").digest == strategy.digest


def test_a_file_with_an_own_indicator_needs_all_of_its_text(write):
    """So that a run can tell what was edited."""
    text = Path(own_words.__file__).read_text(encoding="utf-8")
    idea = f"{HEAD}A = strategy('x', long=efficiency(9) > 0.5, stop=share(0.1))\n"
    strategy = load_strategy(write(text + idea))
    assert strategy.source.has_functions
    again = build_strategy(strategy.source.text, strategy.source.path)
    assert from_described(again.described, own=again.own).digest == strategy.digest
    edited = build_strategy(strategy.source.text + "# more\n", strategy.source.path)
    assert edited.digest != strategy.digest


MISTAKES = [
    ("raise BaseException('no')\n", ":2: BaseException: no"),
    ("\0\n", ": .*null bytes"),
    ("def f():\n    f()\nf()\n", ":3: .*without end"),
    (f"x = close{' + 1' * 6000}\n", "too deep|101 deep"),  # by Python's limit or ours
    ("import numpy as np\nnp.sqrt(close)\n", ":3: .*written down"),
    # A file is read to its end behind its first mistake: a value that is missing ends each loop.
    ("for row in rsii(close, 3):\n    pass\n", ":2: the name 'rsii' is unknown"),
    ("left = rsii(close, 3)\nwhile left > 0:\n    left = left - 1\n", ":2: the name 'rsii'"),
    ("left = rsii(close, 3)\nraise SystemExit(3)\n", ":2: the name 'rsii' is unknown"),
]
"""Text of a file behind its first line, and its message, where the page of messages has none."""


def test_functions_of_a_file_look_names_up_at_full_pace(write):
    """In a plain dictionary: in another, Python's loops take four times as long."""
    text = Path(own_words.__file__).read_text(encoding="utf-8")
    idea = f"{HEAD}A = strategy('x', long=efficiency(9) > 0.5, stop=share(0.1))\n"
    (own,) = load_strategy(write(text + idea)).own.values()
    assert type(own.function.__globals__) is dict


def test_a_function_reads_names_that_stand_below_a_mistake(write):
    """Mistakes behind the first one are those of the file, not of names that it has."""
    text = "left = rsii(close, 3)\nN = 4\nright = both()\nlast = emaa(close, 3)\n"
    with pytest.raises(StrategyError) as error:
        load_strategy(write(f"{HEAD}def both():\n    return ema(close, N)\n{text}"))
    assert [
        line.partition(" is unknown")[0].split(": ")[-1] for line in str(error.value).split("\n")
    ] == ["the name 'rsii'", "the name 'emaa'"]


def test_what_a_file_prints_is_no_result(write, capsys):
    """It goes where progress goes, also from its functions; a file may say otherwise."""
    text = "import sys\nprint('loading', close)\nprint('x', file=sys.stdout)\n"
    load_strategy(write(HEAD + text + ONE))
    assert capsys.readouterr() == ("x\n", "loading close\n")


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_one_line_with_its_place(write, text, message):
    """File and line first, whatever was raised."""
    with pytest.raises(
        StrategyError, match=rf"idea.py{message}" if message[0] == ":" else message
    ) as raised:
        load_strategy(write(HEAD + text))
    assert "\n" not in str(raised.value)


def test_a_file_that_never_ends_is_ended(write, monkeypatch):
    """With the line that runs."""
    monkeypatch.setattr(limits, "LONGEST_S", 0.05)
    with pytest.raises(StrategyError, match=r"idea.py:[23]: .* 0\.05 seconds"):
        load_strategy(write(f"{HEAD}while True:\n    pass\n"))


def test_a_file_changes_nothing_that_others_import(write, tmp_path):
    """Neither the places that modules come from, nor what `strategy` or `data` is."""
    write("raise RuntimeError('shadow')\n", "data.py")
    text = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{HEAD}{ONE}"
    load_strategy(write(HEAD + ONE))
    paths, modules = list(sys.path), set(sys.modules)
    load_strategy(write(text, "strategy.py"))
    assert sys.path == paths
    assert set(sys.modules) == modules
    assert Path(sys.modules["strategy"].__file__).parent != tmp_path


def test_a_file_with_a_mistake_runs_once(write, tmp_path):
    """All but the statement with the mistake, whatever it did outside."""
    log = tmp_path / "log"
    ran = (
        f"import pathlib\nwith pathlib.Path({str(log)!r}).open('a') as file:\n    file.write('x')\n"
    )
    with pytest.raises(StrategyError, match="'rsii' is unknown"):
        load_strategy(
            write(f"from __future__ import annotations\n{HEAD}{ran}left = rsii(close, 3)\n")
        )
    assert log.read_text() == "x"
