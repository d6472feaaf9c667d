"""The language: what Python writes becomes a tree, and what has no meaning is refused in words."""
# ruff: noqa: F403, F405

import math
from functools import reduce

import numpy as np
import pandas as pd
import pytest

from strategy.conditions import AllOf, AnyOf, Compare, Held, Within
from strategy.errors import StrategyError
from strategy.exits import SessionExit, Trail
from strategy.expressions import Arithmetic, Call, Column, GeneValue, Number
from strategy.language import Claim, Term
from strategy.pretty_print import format_tree
from strategy.source_location import PlacedError
from strategy.words import *
from tests.support.own_words import efficiency

CLOSE, OPEN = Column("close"), Column("open")
STOP = share(0.01)
NUMBER = gene("shared", 2, 1, 4)


def test_operators_build_trees_as_they_stand():
    """Left to right, a number where a number is, minus one times what is negated."""
    two = Number(2.0)
    added = Arithmetic("+", Arithmetic("+", CLOSE, OPEN), Column("high"))
    assert (close + open + high).tree == added
    assert (2 * close).tree == Arithmetic("*", two, CLOSE)
    assert (2 / close).tree == Arithmetic("/", two, CLOSE)
    assert (2 - close).tree == Arithmetic("-", two, CLOSE)
    assert (2 + close).tree == Arithmetic("+", two, CLOSE)
    assert (-close).tree == Arithmetic("*", Number(-1.0), CLOSE)
    assert (+close).tree == CLOSE
    assert abs(close).tree == Arithmetic("abs", CLOSE, None)
    assert (np.float64(2) * close).tree == (np.int64(2) * close).tree == (2 * close).tree
    assert minimum(close, 2).tree == Arithmetic("minimum", CLOSE, two)
    assert hash((close + 1).tree) == hash((close + 1.0).tree)


def test_comparisons_and_their_joints_build_conditions():
    """In brackets; a number on the left turns the comparison round."""
    above, below = Compare(CLOSE, ">", OPEN), Compare(CLOSE, "<", Number(2.0))
    assert (close > open).tree == above
    assert (2 > close).tree == below  # noqa: SIM300 - a number on the left
    assert (close >= open).tree == Compare(CLOSE, ">=", OPEN)
    assert (close <= open).tree == Compare(CLOSE, "<=", OPEN)
    assert ((close > open) & (close < 2)).tree == AllOf((above, below))
    assert ((close > open) | (close < 2)).tree == AnyOf((above, below))
    assert all_of(close > open, close < 2).tree == AllOf((above, below))
    assert any_of(close > open).tree == AnyOf((above,))
    assert held(close > open, 3).tree == Held(above, Number(3.0))


def test_not_moves_inwards_at_once():
    """To the comparisons; all and any, held and within change places."""
    above, not_above = Compare(CLOSE, ">", OPEN), Compare(CLOSE, "<=", OPEN)
    assert (~(close > open)).tree == not_above
    assert (~~(close > open)).tree == above
    both = (close > open) & (close < 2)
    assert (~both).tree == AnyOf((not_above, Compare(CLOSE, ">=", Number(2.0))))
    assert (~(both | both)).tree == AllOf(((~both).tree, (~both).tree))
    assert (~held(close > open, 3)).tree == Within(not_above, Number(3.0))
    assert (~within(close > open, 3)).tree == Held(not_above, Number(3.0))


def test_a_cross_asks_at_two_bars():
    """A gene is the same at both; its opposite is either half of it."""
    cross = crosses_above(close, 2).tree
    two = Number(2.0)
    assert cross == AllOf((Compare(CLOSE, ">", two), Compare(CLOSE, "<=", two, bars_ago=1)))
    opposite = AnyOf((Compare(CLOSE, "<=", two), Compare(CLOSE, ">", two, bars_ago=1)))
    assert (~crosses_above(close, 2)).tree == opposite
    below = AllOf((Compare(CLOSE, "<", two), Compare(CLOSE, ">=", two, bars_ago=1)))
    assert crosses_below(close, 2).tree == below
    assert equals(close, 2).tree == AllOf((Compare(CLOSE, ">=", two), Compare(CLOSE, "<=", two)))


def test_words_take_names_and_places():
    """Arguments may be given by name; what is written reads as it was written."""
    assert rsi(x=close, n=14).tree == Call("rsi", CLOSE, (Number(14.0),))
    assert swing_high(lookback=9, lookahead=2).tree == swing_high(9, 2).tree
    assert session_exit() == SessionExit(Number(1440.0), 0)
    assert trail(share(0.1)) == Trail(share(0.1), Number(0.0))
    n = length("n", 20, 5, 50)
    written_rows = {
        "sma(high - low, n)": sma(high - low, n),
        "(close - (2 * std(close, 20))) / open": (close - 2 * std(close, 20)) / open,
        "higher(240, ema(close, 20))": higher(240, ema(close, 20)),
        'vwap("America/New_York")': vwap("America/New_York"),
        "opening_high(60, -300)": opening_high(60, -300),
        'abs(column("funding"))': abs(column("funding")),
        "maximum(high, obv())": maximum(high, obv()),
        "efficiency(20)": efficiency(20),
        "higher(60, open, 30)": higher(60, open, 30),
        "(close > open) & (held(volume < 5, 3))": (close > open) & held(volume < 5, 3),
        "crosses_above(close, 2)": crosses_above(close, 2),
        "crosses_below(rsi(close, 5), 70)": crosses_below(rsi(close, 5), 70),
        "equals(volume, 0)": equals(volume, 0),
        "(close <= 2) | (close > 2 at the bar before)": ~crosses_above(close, 2),
        "(close > 2) & (open <= 2)": (close > 2) & (open <= 2),
    }
    assert {text: repr(row) for text, row in written_rows.items()} == {
        text: text for text in written_rows
    }
    assert format_tree(share(0.01)) == "share(0.01)"
    assert format_tree(session_exit(600)) == "session_exit(600)"
    assert format_tree(session_exit(600, "Europe/Berlin")) == 'session_exit(600, "Europe/Berlin")'
    assert format_tree(session_exit(600, -300)) == "session_exit(600, -300)"


MISTAKES = {
    "and": (lambda: (close > 1) and (close > 2), "a condition has no truth by itself: write &"),
    "or": (lambda: (close > 1) or (close > 2), "write & for and, | for or, ~ for not"),
    "not": (lambda: not (close > 1), "each comparison in brackets"),
    "if": (lambda: 1 if close > 1 else 2, "has no truth by itself"),
    "truth_of_a_row": (lambda: close or open, "a row has no truth by itself"),
    "chained": (lambda: 1 < close < 2, "no a < b < c"),
    "max": (lambda: max(close, open), "minimum and maximum in place of min and max"),
    "no_brackets": (lambda: close > open & high > low, r"& binds tighter than > and <"),
    "no_brackets_or": (lambda: close > 5 | high > low, r"\| binds tighter than > and <"),
    "half_a_joint": (lambda: (close > open) & high, "& joins two conditions, high is none"),
    "joint_with_truth": (lambda: (close > open) & True, "joins two conditions, True is none"),
    "compared_twice": (lambda: (close > open) > 1, "is a condition and is not compared"),
    "equal": (lambda: close == 2, r"equals\(a, k\), or two comparisons"),
    "unequal": (lambda: close != 2, r"~equals\(a, k\)"),
    "equal_conditions": (lambda: (close > 1) == (close > 2), "== is never written"),
    "stop_by_another_name": (
        lambda: strategy("x", long=(close > open), sl=share(0.02)),
        r"strategy has no 'sl': here it is stop=share\(0.02\), or from_entry",
    ),
    "target_by_another_name": (
        lambda: strategy("x", long=(close > open), take_profit=0.02),
        "strategy has no 'take_profit': here it is target=share",
    ),
    "side_by_another_name": (
        lambda: strategy("x", buy=(close > open)),
        "'buy': here it is long=CONDITION",
    ),
    "limit_by_another_name": (lambda: strategy("x", limit=close), "it is entry=limit_at"),
    "part_misspelt": (lambda: strategy("x", longs=(close > open)), "did you mean 'long'"),
    "row_as_stop": (
        lambda: strategy("x", long=(close > open), stop=lowest(low, 5)),
        r"got lowest\(low, 5\); a row is a price: write level\(lowest\(low, 5\)\)",
    ),
    "number_as_target": (
        lambda: strategy("x", long=(close > open), stop=share(0.1), target=2),
        r"got 2; write r_multiple\(2\)",
    ),
    "form_as_trail": (
        lambda: strategy("x", long=(close > open), stop=share(0.1), trail=share(0.02)),
        r"trail takes trail\(...\) or by_side\(...\), got share\(...\); write trail\(share",
    ),
    "row_as_entry": (
        lambda: strategy("x", long=(close > open), stop=share(0.1), entry=high),
        r"write stop_at\(high\) or limit_at\(high\)",
    ),
    "number_as_market": (
        lambda: strategy("x", long=(close > open), stop=share(0.1), market=0.01),
        r"^\S+ market takes market\(...\), got 0.01; write market\(tick=",
    ),
    "form_as_distance": (
        lambda: from_entry(share(0.01)),
        r": share\(...\) is no number; write a number, a row or a gene$",
    ),
    "form_as_condition": (
        lambda: strategy("x", long=share(0.1), stop=share(0.1)),
        r"got share\(...\)$",
    ),
    "form_as_gain": (
        lambda: strategy("x", long=(close > open), stop=share(0.1), break_even=share(0.01)),
        r"break_even takes a gain in units of risk, .* got share\(...\)$",
    ),
    "share_in_percent": (
        lambda: strategy("x", long=(close > open), stop=share(0.1), targets=[(r_multiple(1), 50)]),
        "got 50; 50 % is 0.5",
    ),
    "risk_gene_in_percent": (lambda: risk(gene("k", 1, 0.5, 2)), "at most 1; 2 % is 0.02"),
    "unequal_conditions": (lambda: (close > 1) != (close > 2), "!= is never written"),
    "not_a_row": (lambda: ~close, "~ is the opposite of a condition"),
    "index": (lambda: close[1], r"an earlier value is lag\(close, n\)"),
    "gene_without_name": (lambda: gene(2, 1, 4), "a gene has a name such as 'stop_mult', got 2"),
    "no_bounds": (lambda: gene("k", 2), "gene 'k' needs a default and bounds"),
    "default_outside": (lambda: gene("k", 9, 1, 4), "gene 'k': default 9 is outside 1 .. 4"),
    "real_length": (lambda: sma(close, gene("k", 9, 2, 20)), r"sma: gene 'k' is real, but n must"),
    "short_length": (
        lambda: sma(close, length("k", 9, 1, 20)),
        "sma: gene 'k' may be 1 .. 20, but n must be whole and at least 2",
    ),
    "short_constant": (lambda: rsi(close, 1), "rsi needs n whole and at least 2, got 1"),
    "half_bar": (lambda: ema(close, 2.5), "ema needs n whole and at least 1, got 2.5"),
    "row_as_length": (lambda: ema(close, open), "ema: n is a number or a gene, not a row"),
    "sum_as_length": (lambda: ema(close, 2 * length("k", 9, 2, 20)), "a number or a gene"),
    "named_as_column": (lambda: gene("close", 2, 1, 4), "gene 'close': a row has this name"),
    "named_as_row": (lambda: length("rsi", 2, 1, 4), "gene 'rsi': a row has this name"),
    "too_few": (lambda: rsi(14), r"rsi\(x, n\): missing a required argument: 'n'"),
    "too_many": (lambda: obv(3), r"obv\(\): too many positional arguments"),
    "misspelt": (lambda: rsi(close, m=14, lenght=3), r"rsi\(x, n\)"),
    "own_too_few": (lambda: efficiency(), r"efficiency\(n\): missing a required argument"),
    "number_as_source": (lambda: rsi(30, 14), "rsi reads a row, such as close"),
    "gene_as_source": (lambda: rsi(gene("k", 2, 1, 4), 14), "rsi reads a row"),
    "swing": (lambda: swing_high(5, 5), "swing_high needs lookback whole and at least 6, got 5"),
    "word_as_row": (
        lambda: close > vwap,
        r"vwap is a word that takes arguments: write vwap\(...\)",
    ),
    "nan": (lambda: close > math.nan, "a constant must be finite, got nan"),
    "infinity": (lambda: close * math.inf, "a constant must be finite, got inf"),
    "bool": (lambda: close > True, "True is no number"),
    "text": (lambda: close > "5", "'5' is no number; write a number, a row or a gene"),
    "array": (
        lambda: close * np.ones(3),
        "is no number; write a number, a row or a gene, or an @indicator of your own",
    ),
    "numpy_where": (
        lambda: np.where(close > open, 1, 0),
        "close > open is written down, not computed, and numpy and pandas read arrays",
    ),
    "numpy_mean": (lambda: np.mean(close), "close is written down, not computed"),
    "numpy_array": (lambda: np.asarray(close), "an @indicator of your own"),
    "pandas_first": (lambda: pd.Series([1.0, 2.0]) < close, "a Series is no number"),
    "pandas_sum": (lambda: pd.Series(np.ones(99)) + close, "a Series is no number"),
    "pandas_index": (lambda: pd.Index([1.0]) * close, "is no number"),
    "frame_first": (lambda: pd.DataFrame({"a": [1.0]}) > close, "a DataFrame is no number"),
    "series_joined": (lambda: pd.Series([True]) & (close > 1), "a Series is none; & binds"),
    "loop": (lambda: list(close), r"close is not gone through bar by bar: .* lag\(close, n\)"),
    "unpacked": (lambda: [*close], "close is not gone through bar by bar"),
    "inside": (lambda: 3 in close, "close is not gone through bar by bar"),
    "function": (lambda: close > (lambda: 3), "a function is no number"),
    "list_of_parts": (
        lambda: all_of([close > 1, close > 2]),
        r"each part of all_of is a condition, .* got \[close > 1, close > 2\]",
    ),
    "parts_one_by_one": (
        lambda: all_of(close > x for x in (1, 2)),
        "each part of all_of is a condition, .* got a generator$",
    ),
    "row_second": (lambda: ema(20, close), "ema reads a row, such as close, and it comes first"),
    "other_keyword": (
        lambda: rsi(close, period=14),
        r"rsi\(x, n\): got an unexpected keyword argument 'period'$",
    ),
    "length_as_text": (lambda: ema(close, "20"), "'20' is no number"),
    "reversed": (lambda: length("k", 9, 20, 2), "gene 'k': low 20 is above high 2"),
    "unknown_zone": (
        lambda: vwap("Europe/Berlim"),
        r"is unknown; write one such as 'Europe/Berlin'; did you mean 'Europe/Berlin'\?",
    ),
    "column_without_name": (lambda: column(""), r"a column has a name such as .*, got ''"),
    "array_first": (lambda: np.ones(3) * close, "is no number"),
    "condition_as_number": (lambda: close + (close > open), "'close > open' is a condition; here"),
    "without_row": (lambda: gene("k", 2, 1, 4) > 3, "a comparison needs a row on one side"),
    "higher_minutes": (lambda: higher(7, close), r"divide a day \(1,440\), or a week"),
    "higher_clock": (lambda: higher(60, vwap()), "vwap cannot stand inside of higher"),
    "higher_higher": (lambda: higher(60, higher(30, close)), "higher cannot stand inside"),
    "higher_zone": (lambda: higher(60, close, "UTC"), "a fixed offset in minutes, not the zone"),
    "higher_number": (lambda: higher(60, 5), "higher reads a row"),
    "higher_extra": (lambda: higher(60, column("x")), "the extra column 'x' has no higher bars"),
    "offset": (lambda: vwap(1.5), "an offset is whole minutes from -840 to 840"),
    "extra_is_column": (lambda: column("close"), "'close' is no extra column"),
    "held_row": (lambda: held(close, 3), "what is held is a condition, such as close > open"),
    "held_never": (lambda: held(close > 1, 0), "held needs bars whole and at least 1, got 0"),
    "no_parts": (lambda: all_of(), "all_of needs a condition"),
    "fraction": (lambda: share(0), "share needs fraction above 0, got 0"),
    "fraction_gene": (lambda: share(gene("p", 0, 0, 1)), "fraction must be above 0"),
    "minute": (lambda: session_exit(1500), "minute whole and at least 1 and at most 1440"),
    "shared_row": (
        lambda: reduce(lambda x, _: x + x, range(60), close),
        "16,383 words and numbers once written out, more than 10,000",
    ),
    "shared_gene": (lambda: reduce(lambda x, _: x + x, range(60), NUMBER), "more than 10,000"),
    "shared_condition": (
        lambda: reduce(lambda c, _: c & c, range(60), close > open),
        "more than 10,000; does a loop join a row or a condition with itself",
    ),
    "deep_row": (
        lambda: reduce(lambda x, _: sma(x, 3), range(3000), close),
        "nested 101 deep, more than 100",
    ),
    "deep_abs": (lambda: reduce(lambda x, _: abs(x), range(200), close), "more than 100"),
    "deep_condition": (
        lambda: reduce(lambda c, _: c | (close > 1), range(3000), close > open),
        r"more than 100; join many conditions by all_of\(...\) or any_of",
    ),
    "column_number": (lambda: column(3), r"a column has a name such as column\('sentiment'\), got"),
    "table": (lambda: close > pd.DataFrame({"a": [1, 2]}), "is no number"),
    "trail_form": (
        lambda: trail(r_multiple(2)),
        r"trail takes from_entry\(...\), share\(...\) or level\(...\), got r_multiple\(...\)$",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_place(name):
    """In one line: this file, the line, what is wrong, what to write."""
    mistake, message = MISTAKES[name]
    with pytest.raises(PlacedError, match=message) as raised:
        mistake()
    line = mistake.__code__.co_firstlineno
    place, fault = str(raised.value).split(": ", 1)
    assert place.startswith(f"{__file__}:")
    assert line <= int(place.rsplit(":", 1)[1]) <= line + 2
    assert "\n" not in fault


LARGE = reduce(lambda x, _: x + x, range(12), close)

STRATEGY_MISTAKES = {
    "no_entry": ({"long": None}, r"needs an entry: give it long=... or short=..."),
    "no_stop": ({"stop": None}, r"needs a stop.* stop=beyond_bar"),
    "row_as_entry": ({"long": close}, "long is a condition, such as close > open, got 'close'"),
    "truth_as_entry": ({"long": True}, "long is a condition, such as close > open, got True"),
    "exit_of_nothing": ({"exit_short": close > 1}, "give it short=... too"),
    "stop_of_nothing": (
        {"stop": 2 * close},
        r"stop takes beyond_bar\(...\), from_entry\(...\), share\(...\), level\(...\) or",
    ),
    "r_as_stop": ({"stop": r_multiple(2)}, r"or by_side\(...\), got r_multiple\("),
    "bar_as_target": ({"target": beyond_bar(close)}, "target takes r_multiple.*got beyond_bar"),
    "side_of_stop": ({"stop": by_side(STOP, r_multiple(1))}, r"or by_side\(...\), got r_multiple"),
    "number_as_target": (
        {"target": 2},
        r"target takes r_multiple\(...\), from_entry.* got 2; write r_multiple",
    ),
    "form_as_trail": (
        {"trail": STOP},
        r"trail takes trail\(...\) or by_side\(...\), got share\(...\); write trail",
    ),
    "function_as_entry": ({"long": lambda: close > 1}, "such as close > open, got a function$"),
    "session": ({"session": 1195}, r"session takes session_exit\(...\), got 1195"),
    "hold_nothing": ({"max_hold": 0}, "needs max_hold whole and at least 1, got 0"),
    "hold_row": ({"max_hold": close}, "max_hold is a number or a gene"),
    "early": ({"delay": -1}, "needs delay whole and at least 0, got -1"),
    "unknown": ({"taget": r_multiple(2)}, "unexpected keyword argument 'taget'; .*'target'"),
    "timeframe": ({"timeframe": "soon"}, r"\d: timeframe 'soon' is not a duration"),
    "timeframe_number": ({"timeframe": 15}, r"\d: timeframe '15' is not a duration"),
    "large": ({"long": open < LARGE, "short": open > LARGE}, "more than 10,000"),
    "name_of_a_folder": ({"name": "../../etc"}, "name='../../etc': a strategy's name is letters"),
    "name_of_a_file": ({"name": "idea.py"}, "and is no .py file"),
    "name_of_lines": ({"name": "a\nplot(close)"}, "a strategy's name is letters"),
    "name_of_nothing": ({"name": 3}, "name=3: a strategy's name is letters"),
    "long_name": ({"name": "a" * 81}, "is no longer than 80"),
    "less_than": ({"less_than": [("a", "b")]}, "gene 'a' is unknown"),
    "less_than_one": ({"less_than": ("a", "b")}, r"list of pairs of genes by name.* got 'a' in it"),
    "less_than_text": ({"less_than": "ab"}, "list of pairs of genes by name.* got 'ab' in it"),
    "less_than_rows": ({"less_than": [(NUMBER, close)]}, r"got \(shared, close\) in it"),
    "less_than_defaults": (
        {
            "long": ema(close, length("a", 9, 2, 20)) > ema(close, length("b", 5, 2, 20)),
            "less_than": [("a", "b")],
        },
        "by their defaults 'a' must be below 'b', got 9 and 5",
    ),
    "order": ({"order": ["a"]}, "gene 'a' is unknown"),
    "swing_genes": (
        {"long": close > swing_high(length("back", 20, 9, 40), length("ahead", 3, 1, 5))},
        r"less_than=\[\('ahead', 'back'\)\]",
    ),
    "column_gene": (
        {"long": column("x") > gene("x", 1, 0, 2)},
        "gene and column are both named 'x'",
    ),
}


@pytest.mark.parametrize("name", STRATEGY_MISTAKES)
def test_a_strategy_says_what_it_lacks(name):
    """With the place where it was made."""
    change, message = STRATEGY_MISTAKES[name]
    with pytest.raises(PlacedError, match=message) as raised:
        strategy("x", **{"long": close > open, "stop": STOP, **change})
    assert str(raised.value).startswith(f"{__file__}:")


def test_a_strategy_begins_with_a_sentence():
    """And its name is plain, in any script."""
    with pytest.raises(PlacedError, match=r"too many positional arguments; write long=... and so"):
        strategy("x", close > open, STOP)
    with pytest.raises(PlacedError, match="begins with a sentence about it, got 3"):
        strategy(3, long=close > open, stop=STOP)
    for name in ("Breakout v1.2", "über_mean-2", ""):
        assert strategy("x", long=close > open, stop=STOP, name=name).name == name


def test_two_genes_of_one_name_are_named_with_both_places():
    """Equal ones are one gene."""
    one, same = gene("k", 2, 1, 4), gene("k", 2, 1, 4)
    other = gene("k", 3, 1, 4)
    single = strategy("x", long=(close > one) & (open > same), stop=STOP)
    assert single.layout.names == ("k",)
    places = rf"{one.tree.place}.*{other.tree.place}"
    with pytest.raises(StrategyError, match=f"two different genes are named 'k': .*{places}"):
        strategy("x", long=(close > one) & (open > other), stop=STOP)


def test_wrapped_values_hold_plain_data():
    """That is comparable, beside the language's own `==`."""
    assert isinstance(close, Term)
    assert isinstance(close > 1, Claim)
    k = gene("k", 2, 1, 4)
    assert isinstance(k.tree, GeneValue)
    assert k.tree == gene("k", 2, 1, 4).tree != gene("k", 3, 1, 4).tree
