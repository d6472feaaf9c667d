"""Text of a strategy that a stranger wrote: words alone are let through."""

import pytest

from optimizer.cli.strategy_texts import BEGINNING
from strategy.errors import StrategyError
from strategy.files import build_strategy
from strategy.words_only import LONGEST_TEXT, require_words_only

HEAD = "from strategy.words import *\n"

REST = "stop=share(0.02), max_hold=9)"


def test_what_words_say_is_let_through_and_is_a_strategy():
    """The file that `strategies new` writes, tuples of targets, signs and names before."""
    beginning = BEGINNING.format(title="A", check="b", search="c", variable="IDEA")
    require_words_only(beginning)
    assert build_strategy(beginning, "idea.py").name == "idea"
    text = f"""{HEAD}
fast = -(+close) * -1.0
IDEA = strategy("", long=~(fast < sma(close, 9)), targets=[(r_multiple(1), 0.5)], {REST}
"""
    require_words_only(text)
    assert build_strategy(text, "idea.py").name == "idea"


REFUSED = {
    "import": "import os",
    "from": "from os import *",
    "relative": "from .words import *",
    "function": "def f(): pass",
    "indicator": "indicator(1)",
    "decorated": "@indicator\ndef f(a): return a",
    "class": "class A: pass",
    "lambda": "a = lambda: 1",
    "attribute": "a = close.__class__",
    "call_of_attribute": "a = close.sum()",
    "call_of_call": "a = sma(close, 9)(1)",
    "subscript": "a = close[0]",
    "builtin": "a = open('/etc/passwd')",
    "column_called": "a = high(1)",
    "builtin_behind_a_docstring": "'from strategy.words import *'\na = open('x', 'w')",
    "dunder": "a = __builtins__",
    "dunder_target": "__builtins__ = 1",
    "word_as_target": "sma = ema",
    "two_targets": "a = b = 1",
    "tuple_target": "a, b = close, open",
    "annotated": "a: int = 1",
    "walrus": "a = sma((b := close), 9)",
    "loop": "for a in (1, 2): pass",
    "while": "while True: pass",
    "with": "with open: pass",
    "comprehension": "a = [b for b in (1, 2)]",
    "formatted": "a = strategy(f'{close}')",
    "power": "a = 10 ** 10 ** 10",
    "shift": "a = 1 << 10 ** 9",
    "text_times": "a = column('x' * 10 ** 9)",
    "text_times_number": "a = column('x' * 999999999)",
    "list_times": "a = all_of(*[1] * 9)",
    "tuple_times": "a = all_of((1, 2) * 999999999)",
    "named_text": "a = 'x'",
    "named_list": "a = [1]",
    "starred": "a = all_of(*close)",
    "keywords": "a = strategy(**close)",
    "chained": "a = 1 < close < 2",
    "condition": "a = 1 if close else 2",
    "bytes": "a = column(b'x')",
    "complex": "a = close * 1j",
    "ellipsis": "a = column(...)",
    "statement": "sma(close, 9)",
    "later_docstring": "a = 1\n'text'",
    "await": "await close",
    "del": "del close",
    "assert": "assert close",
    "global": "global close",
    "null": "a = 1\0",
    "syntax": "a = (",
    "deep": "a = " + "(" * 3000 + "1" + ")" * 3000,
    "deep_signs": "a = " + "-" * 4000 + "1",
    "long": "a = 1" + " " * LONGEST_TEXT,
    "many": "a = 1\n" * 3000,
}


@pytest.mark.parametrize("case", REFUSED)
def test_anything_else_is_refused_in_one_line(case):
    """Whether or not it would do harm."""
    with pytest.raises(StrategyError) as caught:
        require_words_only(REFUSED[case])
    assert len(str(caught.value).splitlines()) == 1


def test_a_word_that_there_is_not_is_named_with_the_nearest():
    """With its line."""
    with pytest.raises(StrategyError, match=r"line 2: there is no word 'rsj'; did you mean 'rsi'"):
        require_words_only("a = 1\nb = rsj(close, 14)")
