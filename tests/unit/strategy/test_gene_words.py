"""Words of genes, of strangers and of other programs, and what of them is refused."""

import json
import re

import numpy as np
import pytest

from optimizer.cli.strategy_texts import BEGINNING
from strategy import words
from strategy.errors import GeneError, StrategyError
from strategy.expressions import Choose, Column, holds_row
from strategy.files import build_strategies, build_strategy
from strategy.gene import Gene
from strategy.model import from_described
from strategy.other_names import OURS
from strategy.row_text import parse_row
from strategy.rows import bound
from strategy.words import (
    beyond_bar,
    choice,
    close,
    ema,
    gene,
    length,
    rma,
    sma,
    strategy,
    switch,
    true_range,
    volume,
    wma,
)
from strategy.words_only import LONGEST_TEXT, require_words_only
from tests.support.commands import printed

STOP = beyond_bar(rma(true_range, 3))


def make_averaged():
    """A strategy of a choice, a switch and a step."""
    average = choice("average", sma, ema, wma, default="ema")
    busy = switch("busy", volume > sma(volume, 30), default=False)
    above = close > average(close, length("n", 10, 5, 20))
    far = gene("far", 0.5, 0, 2, step=0.25)
    return strategy("Drawn.", long=above & busy, stop=beyond_bar((far + 1) * rma(true_range, 3)))


def test_a_choice_of_indicators_is_called_as_they_are():
    """Its row is one of theirs, that of the gene's number."""
    average = choice("average", sma, ema, wma, default="ema")
    tree = average(close, 10).tree
    assert isinstance(tree, Choose)
    assert repr(average(close, 10)) == "average(close, 10)"
    assert average(x=close, n=10).tree == tree
    assert tree.gene.gene == Gene("average", "int", 0, 2, 1, options=("sma", "ema", "wma"))
    rows = [bound(tree, {"average": number}) for number in range(3)]
    assert [row.indicator for row in rows] == ["sma", "ema", "wma"]
    assert {row.source for row in rows} == {Column("close")}


def test_the_warm_up_is_that_of_the_option():
    """And of conditions that are on."""
    slow = choice("average", words.dema, ema)(close, length("n", 10, 5, 20))
    busy = switch("busy", volume > sma(volume, 30))
    one = strategy("Warm.", long=(close > slow) & words.held(busy, 4), stop=STOP)
    genes = {"average": 0, "n": 10, "busy": 0}
    assert one.warm_up(genes) == 18
    assert one.warm_up(genes | {"average": 1}) == 9
    assert one.warm_up(genes | {"busy": 1}) == 29 + 3
    assert one.longest_reach(60 * 10**9) == 38
    # Also of an option that is neither first nor last.
    row = choice("average", sma, words.dema, ema)(close, 10)
    assert strategy("Warm.", long=close > row, stop=STOP).longest_reach(60 * 10**9) == 18


def test_a_record_is_read_back():
    """With options and steps, through JSON, and only where there are any."""
    one = make_averaged()
    described = json.loads(json.dumps(one.described))
    again = from_described(described)
    assert again.digest == one.digest
    assert again.long == one.long
    by_name = {gene["name"]: gene for gene in described["genes"]}
    assert by_name["average"]["options"] == ["sma", "ema", "wma"]
    assert by_name["far"]["step"] == 0.25
    assert not {"options", "step"} & by_name["n"].keys()


def test_options_are_given_and_shown_by_name():
    """A number stands for one as well."""
    layout = make_averaged().layout
    genome = layout.encode({"average": "wma", "busy": "on", "far": 0.75})
    assert dict(zip(layout.names, genome.tolist(), strict=True)) == {
        "average": 2.0, "n": 10.0, "busy": 1.0, "far": 0.75,
    }  # fmt: skip
    assert layout.show(genome) == {"average": "wma", "n": 10, "busy": "on", "far": 0.75}
    assert layout.encode(layout.decode(genome)).tolist() == genome.tolist()
    with pytest.raises(GeneError, match="did you mean 'ema'"):
        layout.encode({"average": "emu"})
    with pytest.raises(GeneError, match="got 3"):
        layout.encode({"average": 3})


@pytest.mark.parametrize(("low", "high", "step"), [(0, 0.3, 0.1), (-1, 1, 0.25), (1.1, 3.2, 0.7)])
def test_values_of_a_step_follow_from_one_arithmetic(low, high, step):
    """A product and a sum, each rounded once; the last value is the bound itself."""
    layout = strategy(
        "Stepped.", long=close > gene("x", low, low, high, step=step), stop=STOP
    ).layout
    count = round((high - low) / step)
    expected = [low + k * step for k in range(count)] + [high]
    steps = np.arange(count + 1.0)[:, None]
    assert layout.from_grid(steps)[:, 0].tolist() == expected
    assert layout.to_grid(layout.from_grid(steps)).tolist() == steps.tolist()
    legal, _ = layout.repair(np.array([[value + 0.4 * step] for value in expected]))
    assert legal[:, 0].tolist() == expected
    assert layout.repair(legal)[0].tolist() == legal.tolist()


def test_options_are_counted_round():
    """Each neighbour of an option is another one: of three every one is a step or two away."""
    layout = strategy("One.", long=close > choice("c", sma, ema, wma)(close, 3), stop=STOP).layout
    genomes = np.array([[0.0], [1.0], [2.0]])
    assert layout.move(genomes, np.array([1.0])).ravel().tolist() == [1.0, 2.0, 0.0]
    assert layout.move(genomes, np.array([-1.0])).ravel().tolist() == [2.0, 0.0, 1.0]
    moves = layout.axis_moves(np.array([1.0]))
    assert {*layout.move(genomes[:1], moves).ravel().tolist()} == {1.0, 2.0}


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


PRINT_DIGEST = """
from engine.positions.reference import take_signals
from strategy.functions import collect_functions, encode_constants, text_digest
functions = collect_functions(take_signals)
assert len(functions) > 5
print(text_digest(take_signals), [f.__name__ for f in functions], list(encode_constants(functions)))
"""


def test_one_digest_in_every_process():
    """Python's sets have another order in each; a digest that had it would refuse to resume."""
    assert len({printed(PRINT_DIGEST, env={"PYTHONHASHSEED": seed}) for seed in "01"}) == 1
