"""Strategies as plain data, and their conditions by hand: what is not known is never true."""

# ruff: noqa: F403, F405

import dataclasses
import json
import math
from functools import reduce
from pathlib import Path

import numpy as np
import pytest

from strategy.errors import GeneError, StrategyError
from strategy.files import build_strategies
from strategy.model import from_described
from strategy.pretty_print import format_tree
from strategy.words import *
from tests.support import examples, own_words
from tests.support.references import FORMS
from tests.support.series import holds, make_bars

EXAMPLES = build_strategies(Path(examples.__file__).read_text(encoding="utf-8"), examples.__file__)
STOP = share(0.01)
ABOVE = close > sma(close, length("n", 20, 5, 50))


def simple(**given):
    """A strategy with an entry and a stop, and what is given."""
    return strategy("x", **{"long": ABOVE, "stop": STOP, **given})


EVENING = simple(
    short=close < open, session=session_exit(1015, "America/New_York", begins=1080),
    entry=stop_at(high, 3), cancel=by_side(close < sma(close, 7), close > sma(close, 30)),
)  # fmt: skip


@pytest.mark.parametrize("name", [*EXAMPLES, "evening"])
def test_a_strategy_is_read_back_from_what_was_written_down(name):
    """Through JSON: the same digest, and the same words."""
    one = EXAMPLES.get(name, EVENING)
    payload = json.loads(json.dumps(one.described))
    again = from_described(payload, one.name, one.summary)
    assert again.digest == one.digest
    assert [*map(format_tree, again.expressions)] == [*map(format_tree, one.expressions)]
    assert json.loads(json.dumps(again.described)) == payload


@pytest.mark.parametrize(
    ("part", "recorded"),
    [
        ("long", ["system", "x"]), ("long", ["compare"]), ("long", {"x": 1}), ("genes", None),
        ("genes", [{"name": "n"}]), ("constraints", [["n"]]),
        ("long", reduce(lambda tree, _: ["call", "sma", tree, [3.0]], range(3000), 1.0)),
    ],
)  # fmt: skip
def test_a_record_that_holds_no_strategy_is_refused(part, recorded):
    """It may come from anywhere."""
    with pytest.raises(StrategyError, match="'sent' is no strategy"):
        from_described({**simple().described, part: recorded}, "sent")


def test_genes_follow_the_parts_of_a_strategy():
    """Every part may hold one; those that are named first stand first."""
    made = strategy(
        "x",
        delay=whole("delay", 1, 0, 3),
        session=session_exit(whole("minute", 900, 1, 1440)),
        max_hold=length("hold", 5, 1, 9),
        break_even=gene("even", 1, 0, 2),
        trail=by_side(
            long=trail(share(gene("trail", 0.1, 0.01, 0.2)), after=gene("after", 1, 0, 2)),
            short=trail(share(gene("trail_short", 0.1, 0.01, 0.2))),
        ),
        target=r_multiple(gene("reward", 2, 1, 3)),
        stop=by_side(level(low - gene("below", 1, 0, 2)), from_entry(gene("above", 1, 0, 2))),
        exit_short=within(close > 1, whole("bars", 3, 1, 5)),
        exit_long=close < gene("out", 1, 0, 2),
        short=close < lag(close, length("back", 3, 1, 9)),
        long=crosses_above(close, gene("in", 1, 0, 2)),
        order=("hold",),
    )
    assert made.layout.names == (
        "hold", "in", "back", "out", "bars", "below", "above", "reward", "trail", "after",
        "trail_short", "even", "minute", "delay",
    )  # fmt: skip
    assert made.reasons == ("stop_gap", "stop", "target", "time", "end", "signal", "session")
    assert (made.goes_short, made.longest_hold) == (True, 9)
    assert made.row_genes == {"back", "bars"}
    positive = {gene.name for gene in made.layout.genes if gene.positive}
    assert positive == {"reward", "trail", "trail_short"}


def test_the_smallest_and_largest_of_genes_follow_from_what_reads_them():
    """Whatever the bounds of a search are."""
    made = simple(
        long=(close > swing_high(length("back", 20, 9, 40), 3))
        & (close > swing_low(30, length("ahead", 3, 1, 5)))
        & (close > std(close, length("n", 9, 3, 20))),
        delay=whole("delay", 0, 0, 3),
        session=session_exit(whole("minute", 900, 5, 1440)),
        target=r_multiple(gene("reward", 2, 1, 3)),
    )
    tiny = float(np.nextafter(0.0, 1.0))
    assert made.least.tolist() == [4.0, 1.0, 2.0, tiny, 1.0, 0.0]
    assert made.most[[1, 4]].tolist() == [29.0, 1440.0]
    genomes = np.tile(made.layout.defaults, (3, 1))
    made.check_genomes(genomes)
    genomes[2, 1] = 30
    with pytest.raises(GeneError, match=r"individual 2: gene 'ahead'.* 29"):
        made.check_genomes(genomes)
    genomes[1, 3] = -1.0
    with pytest.raises(GeneError, match="individual 1: gene 'reward'"):
        made.check_genomes(genomes)
    with pytest.raises(StrategyError, match=r"1 \.\. 20"):
        made.with_bounds({"n": (1, 20)})
    assert made.with_bounds({"n": (2, 5)}).layout.gene("n").default == 5


def test_warm_up_is_the_longest_of_all_that_is_named():
    """Of exits too, and of what `any_of` could do without; crosses and holds add bars."""
    assert simple().warm_up({"n": 20}) == 19
    assert simple(exit_long=close > lag(close, 30)).warm_up({"n": 20}) == 30
    assert simple(long=ABOVE | (close > wma(close, 40))).warm_up({"n": 20}) == 39
    assert simple(long=crosses_above(close, ema(close, 9)), stop=STOP).warm_up({}) == 9
    assert simple(long=held(ABOVE, 4)).warm_up({"n": 20}) == 22
    assert simple(long=~held(crosses_above(close, 2), 4)).warm_up({}) == 4
    assert simple(stop=beyond_bar(2 * atr(60))).warm_up({"n": 20}) == 59
    assert simple(trail=trail(from_entry(atr(70)))).warm_up({"n": 20}) == 69
    assert [one.longest_reach(60 * 10**9) for one in (simple(), EXAMPLES["MA_CROSS"])] == [49, 400]


def test_a_gene_of_a_record_has_a_plain_name():
    """A member's genes are written into programs."""
    payload = json.dumps(simple().described).replace('"n"', '"n = 1\\nimport os #"')
    with pytest.raises(StrategyError, match="is no name of a gene"):
        from_described(json.loads(payload))


def test_a_digest_holds_what_decides_trades_and_no_more():
    """Neither names of variables nor words for people."""
    first = simple()
    assert dataclasses.replace(first, name="other", summary="words").digest == first.digest
    assert EXAMPLES["MA_CROSS"].digest == examples.MA_CROSS.digest
    others = [
        simple(long=close >= sma(close, length("n", 20, 5, 50))),
        simple(long=close > sma(close, length("n", 20, 5, 51))),
        simple(long=close > sma(close, length("m", 20, 5, 50))),
        simple(short=close < 1),
        simple(delay=1),
        simple(stop=share(0.02)),
        simple(timeframe="15m"),
        simple(version=2),
        simple(less_than=[("n", "m")], target=r_multiple(whole("m", 60, 51, 90))),
        simple(target=r_multiple(whole("m", 60, 51, 90))),
        simple().with_bounds({"n": (5, 49)}),
    ]
    assert len({one.digest for one in (first, *others)}) == len(others) + 1


def test_an_own_indicator_belongs_to_the_digest():
    """Read back only where the same text is given."""
    made = simple(long=close > own_words.efficiency(20))
    assert made.own == {"efficiency": own_words.efficiency.own}
    payload = json.loads(json.dumps(made.described))
    assert from_described(payload, own=made.own).digest == made.digest
    with pytest.raises(StrategyError, match="'efficiency' is unknown"):
        from_described(payload)
    edited = dataclasses.replace(own_words.efficiency.own, text_sha256="0")
    with pytest.raises(StrategyError, match="another text"):
        from_described(payload, own={"efficiency": edited})


def test_reach_counts_higher_bars_and_sessions_in_bars():
    """Twenty bars of four hours and one more, a day of a session; a clock reaches nowhere."""
    minute_ns = 60 * 10**9
    pullback, fade = EXAMPLES["RSI_PULLBACK"], EXAMPLES["VWAP_REVERSION"]
    assert pullback.longest_reach(15 * minute_ns) == 399
    assert pullback.longest_reach(5 * minute_ns) == 20 * 48
    assert fade.longest_reach(15 * minute_ns) == 98
    assert simple().longest_reach(15 * minute_ns) == 49


NAN = math.nan
BARS = make_bars(6, extra={"x": np.array([1.0, NAN, 3.0, 2.0, 2.0, 5.0])})
x, k = column("x"), gene("k", 2, 0, 9)
NO, YES = False, True

CASES = {
    "above": (x > 2, [NO, NO, YES, NO, NO, YES]),
    "not_above": (~(x > 2), [YES, NO, NO, YES, YES, NO]),
    "at_least": (x >= k, [NO, NO, YES, YES, YES, YES]),
    "below": (x < 3, [YES, NO, NO, YES, YES, NO]),
    "at_most": (x <= x, [YES, NO, YES, YES, YES, YES]),
    "equal": (equals(x, k), [NO, NO, NO, YES, YES, NO]),
    "unequal": (~equals(x, k), [YES, NO, YES, NO, NO, YES]),
    "both": ((x > 1) & (x < 4), [NO, NO, YES, YES, YES, NO]),
    "either": ((x > 4) | (x < 2), [YES, NO, NO, NO, NO, YES]),
    "not_either": (~((x > 4) | (x < 2)), [NO, NO, YES, YES, YES, NO]),
    "whatever_one_says": ((x > 0) | (close > 0), [YES] * 6),
    "crosses": (crosses_above(x, k), [NO, NO, NO, NO, NO, YES]),
    "crosses_from_a_hole": (crosses_above(x, 0), [NO] * 6),
    "falls": (crosses_below(x, 2.5), [NO, NO, NO, YES, NO, NO]),
    "no_cross": (~crosses_above(x, k), [YES, NO, NO, YES, YES, NO]),
    "held": (held(x > 1, 2), [NO, NO, NO, YES, YES, YES]),
    "held_for_a_bar": (held(x > 2, 1), [NO, NO, YES, NO, NO, YES]),
    "held_for_ever": (held(close > 0, 7), [NO] * 6),
    "not_held": (~held(x > 2, 2), [YES, YES, NO, YES, YES, YES]),
    "within": (within(x > 2, 2), [NO, NO, YES, YES, NO, YES]),
    "within_all": (within(x > 2, 99), [NO, NO, YES, YES, YES, YES]),
    "not_within": (~within(x > 2, 2), [NO, NO, NO, NO, YES, NO]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CASES)
def test_a_condition_by_hand(name, form):
    """Over a hole, from bar 0 on, before which nothing is known."""
    condition, expected = CASES[name]
    actual = holds(condition.tree, BARS, {"k": 2.0}, FORMS[form])
    assert actual.tolist() == expected
