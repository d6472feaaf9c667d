"""Names of other programs end a mistake with the word that is meant."""

import re

import pytest

from strategy.errors import StrategyError
from strategy.expressions import holds_row
from strategy.files import build_strategies
from strategy.other_names import OURS
from strategy.row_text import parse_row

HINTS = {
    "BBANDS": "here it is bollinger_upper(close, 20, 2)",
    "psar": "here it is sar(2, 2, 20), in percent",
    "RSI": "did you mean 'rsi'",
    "rsi14": "write rsi(close, 14)",
    "atr14": "write atr_wilder(14), or atr(14), which is a plain mean",
    "macd12": "did you mean 'macd'",
}


@pytest.mark.parametrize("name", HINTS)
def test_a_name_of_another_program_is_told_the_word(name):
    """In a file and in the text of a row."""
    with pytest.raises(StrategyError) as in_file:
        build_strategies(f"from strategy.words import *\nx = {name}\n", "idea.py")
    assert str(in_file.value).startswith(f"idea.py:2: the name '{name}' is unknown; {HINTS[name]}")
    with pytest.raises(StrategyError) as in_text:
        parse_row(f"{name} / 2")
    assert HINTS[name] in str(in_text.value)


CALLS = sorted({call for ours in OURS for call in re.findall(r"\w+\([^()]*\)", ours)})


@pytest.mark.parametrize("call", [call for call in CALLS if "a, b" not in call])
def test_what_is_suggested_is_a_row(call):
    """As it stands there."""
    assert holds_row(parse_row(call))
