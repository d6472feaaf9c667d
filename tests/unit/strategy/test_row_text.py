"""Rows read from text: the language's own forms and nothing else, in no time."""

import subprocess
import sys

import pytest

from strategy.errors import StrategyError
from strategy.pretty_print import format_tree
from strategy.row_text import parse_row

REPEATED = ["'a' * 9", "9 * 'a'", "column('a' * 9)"]
"""Texts that a larger number would make endless."""

HOSTILE = [
    "__import__('os').mkdir('canary')", "open.tree.__class__", "close.__init__.__globals__['sys']",
    "(lambda: close)()", "[close for _ in (1,)][0]", "close if open else high", "(taken := close)",
    "f'{close}'", "print(1)", "column('x').tree", "sma(close, **{'n': 5})", "sma(*(close, 5))",
    "9**9**9", "close + 9**9**9", "1 << 9999999999", *REPEATED, "close and open",
    "close < open < high", "close[0]", "close, open", "close)\n,(open", "close\0", "1/0 + close",
    "9" * 3999, "(" * 1500 + "close" + ")" * 1500, "-" * 3999 + "close",
    "close + " * 20_000 + "close", "", "rsi(close, gene('n', 14, 2, 20))",
]  # fmt: skip

WATCHED = """
import ast
import sys
from strategy.errors import StrategyError
from strategy.row_text import parse_row, split_rows
parse_row("rsi(close, 14)")
ast.unparse(ast.parse("a"))  # whose module Python 3.14 imports late
heard = []
sys.addaudithook(lambda event, given: heard.append(event) if event == "exec" else None)
for text in {texts!r}:
    for read in (parse_row, split_rows):
        try:
            read(text)
        except StrategyError:
            pass
print(heard)
"""


@pytest.mark.parametrize(
    "text",
    [
        "rsi(close, 14) / 100",
        "-close",
        "+close",
        "abs(close - open)",
        "close_location - 0.5",
        "maximum(sma(x=close, n=2 * 7), column('x'))",
        "higher(60, close)",
        "2 / (close + 1e3)",
    ],
)
def test_rows_mean_what_a_file_means(text):
    """A row of text is that which a strategy's file makes of the same words."""
    variables = {}
    exec("from strategy.words import *", variables)
    assert parse_row(text) == eval(text, variables).tree
    assert parse_row(format_tree(parse_row(text))) == parse_row(text)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_anything_else_is_refused_in_one_short_line(text):
    """No form of Python's beside those of the language; no text makes a long message."""
    with pytest.raises(StrategyError) as refused:
        parse_row(text)
    assert len(str(refused.value)) < 400


def test_no_text_is_executed(tmp_path):
    """Neither reading one row nor a list of them executes code, whatever the text."""
    program = WATCHED.format(texts=[*HOSTILE, ", ".join(HOSTILE[:12])])
    done = subprocess.run(
        [sys.executable, "-"],
        input=program,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
    assert list(tmp_path.iterdir()) == []
