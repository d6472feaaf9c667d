"""Indicators of a person's own in words: what they may be, and the proof that none looks ahead."""
# ruff: noqa: F403, F405

import math
import re

import numpy as np
import pytest

from strategy import limits
from strategy.errors import IndicatorError
from strategy.files import build_strategies
from strategy.lookahead_check import collect_calls, prove_bounds, prove_causal, prove_individuals
from strategy.own_words import TEXT
from strategy.rows import row_values
from strategy.series import Series
from strategy.source_location import PlacedError
from strategy.words import *
from tests.support.own_words import (
    BY_LENGTH,
    KEEP_BETWEEN_CALLS,
    LONGEST,
    NO_ROWS,
    NOT_CAUSAL,
    efficiency,
    endless,
    flags_once,
    held_back,
    of_two_lengths,
    peeks_once,
    remembers_the_longest,
    repaints,
    with_state,
    zeros,
)
from tests.support.worlds import make_bars

BARS = make_bars(9, 400)
SERIES = Series.of(BARS)


def test_a_causal_indicator_is_proved():
    """At every cut, also at those that are asked for."""
    prove_causal(efficiency.own, (20,), SERIES, also=(25, 399, 3, 1000))
    prove_causal(efficiency.own, (20,), Series.of(BARS.until(20)))


@pytest.fixture(autouse=True)
def forget_bars():
    """Words that keep bars have kept none, whichever test was before."""
    LONGEST.clear()
    BY_LENGTH.clear()


CAUGHT = [
    *((word, r"looks ahead: .*own_words.py:\d+", 400) for word in NOT_CAUSAL),
    # Kept of other bars: found by its values on the same ones, before and after it saw others.
    *((word, "asked twice", 400) for word in KEEP_BETWEEN_CALLS),
    (with_state, "asked twice, first at bar 0", 400),
    # A flag need not signal there: it may be what keeps a trade from being taken.
    (flags_once, "looks ahead: .* 777", 4000),
]


@pytest.mark.parametrize(("word", "why", "bars"), CAUGHT, ids=range(len(CAUGHT)))
def test_what_is_not_causal_is_named(word, why, bars):
    """By function, parameters, and the first bar that differs."""
    given = tuple([7] * len(word.own.parameters))
    shown = re.escape(word.own.format_call(given))
    with pytest.raises(IndicatorError, match=f"^{shown} .*{why}"):
        prove_causal(word.own, given, Series.of(make_bars(9, bars)))


def test_what_is_kept_of_these_bars_is_found():
    """A look-ahead by what it was given before the proof."""
    remembers_the_longest.own.row(Series.of(make_bars(9, 900)), ())
    with pytest.raises(IndicatorError, match="asked twice"):
        prove_causal(remembers_the_longest.own, (), Series.of(make_bars(9, 900)))


REFUSED = {
    "shape": "400 numbers.* 399", "table": r"\(400, 1\)", "masked": "filled", "row": "numpy",
    "word": "is no number", "silent": "KeyError", "series": "to_numpy", "type": "astype",
    "writes": "read-only", "leaves": "SystemExit: 3",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_row_is_refused(name):
    """By function and parameters, the line where it failed."""
    own = NO_ROWS[name].own
    with pytest.raises(IndicatorError, match=rf"^{own.name}\(\) .*{REFUSED[name]}"):
        own.row(SERIES, ())


def test_an_endless_loop_is_ended(monkeypatch):
    """With the line that runs."""
    monkeypatch.setattr(limits, "LONGEST_S", 0.05)
    with pytest.raises(IndicatorError, match=r"endless\(\) .*0\.05 seconds.*own_words.py:\d+"):
        endless.own.row(SERIES, ())
    monkeypatch.setattr(limits, "AGAIN_S", 0.02)
    with pytest.raises(IndicatorError, match="held_back"):
        held_back.own.row(SERIES, ())


def test_what_it_says_before_its_warm_up_is_unknown():
    """And zeros have no sign."""
    values = row_values(zeros().tree, BARS)
    assert np.isnan(values[:3]).all()
    assert math.copysign(1.0, values[3]) == 1.0


def test_a_strategy_is_proved_at_its_default_genes_and_at_bounds():
    """On higher bars too, and with the genes of individuals."""
    n, m = length("n", 20, 5, 50), length("m", 3, 2, 4)
    one = strategy(
        "x",
        long=(close > efficiency(n)) & (higher(60, efficiency(m)) < efficiency(7)),
        stop=share(0.01),
    )
    assert prove_bounds(one, [BARS]) == 3 + 3 + 1
    assert prove_individuals(one, [BARS], [{"n": 9, "m": 3}], [[np.array([50])]]) == 3
    other = strategy("x", long=close > 1, stop=level(low), exit_long=higher(60, repaints()) > 1)
    with pytest.raises(IndicatorError, match=r"repaints\(\) looks ahead"):
        prove_bounds(other, [make_bars(9, 900)])
    assert prove_bounds(strategy("x", long=close > 1, stop=share(0.1)), [BARS]) == 0


def test_bounds_are_proved_within_the_constraints():
    """An indicator is not asked for what no search would ask for."""
    fast, slow = length("fast", 5, 2, 20), length("slow", 12, 3, 40)
    parts = {"long": of_two_lengths(fast, slow) > 0, "stop": share(0.01)}
    with pytest.raises(IndicatorError, match=r"of_two_lengths\(20, 12\)"):
        prove_bounds(strategy("x", **parts), [BARS])
    # At 20 the other one is at 40, at 3 at 2; both of these stand at a bound of their own already.
    assert prove_bounds(strategy("x", **parts, less_than=[("fast", "slow")]), [BARS]) == 5


@pytest.mark.parametrize("minutes", [None, 60])
def test_a_look_ahead_at_signals_alone_is_found_there(minutes):
    """Between the bars at which every indicator is cut, on bars of an hour as well."""
    bars = make_bars(9, 4000)
    row = peeks_once() if minutes is None else higher(minutes, peeks_once())
    one = strategy("x", long=row > 1, stop=share(0.1))
    assert prove_bounds(one, [bars]) == 1
    per_bar = 1 if minutes is None else minutes * 60 * 10**9 // bars.timeframe_ns
    # The first of the hours is left out, and each is known with the last of its bars.
    signals = np.arange(777, 779) if minutes is None else np.arange(777 * per_bar, 780 * per_bar)
    assert prove_individuals(one, [bars], [{}], [[signals + 40]]) == 1
    ((series, *_),) = collect_calls(one, bars, [{}], [signals])
    assert len(bars) // per_bar - 1 <= len(series) <= len(bars) // per_bar + 1
    with pytest.raises(IndicatorError, match=r"peeks_once.* 777"):
        prove_individuals(one, [bars], [{}], [[signals]])


BY_TIME = """from strategy.words import *
KNOWN = {}
@indicator(warm_up=0)
def by_time(bars):
    found = bars.close.copy()
    for t, time in enumerate(bars.timestamp.tolist()):
        found[t] = KNOWN.setdefault(time, found[t])
    return found
SPEC = strategy("x", long=close > by_time(), stop=share(0.1))
"""


def test_what_is_kept_by_time_is_found():
    """All its values agree with those on other bars; its file run again knows better."""
    spec = build_strategies(BY_TIME, "by_time.py")["SPEC"]
    with pytest.raises(IndicatorError, match="run again, first at bar 1"):
        prove_bounds(spec, [BARS])


def define_name(text, name="f"):
    """What a file's text makes of a name."""
    variables = {"__name__": "file", TEXT: text}
    exec(compile(text, "file.py", "exec"), variables)
    return variables[name]


HEAD = "from strategy.words import indicator\n"
BODY = "@indicator(warm_up=1{uses})\ndef f(bars, n=3):\n    return bars.close + n\n"


def test_an_own_indicator_is_told_apart_by_its_file():
    """Any other text is another one; so are other versions of what it uses, and parameters."""
    first, same = (define_name(HEAD + BODY.format(uses="")) for _ in range(2))
    other = define_name(HEAD + BODY.format(uses="") + "# more\n")
    assert first.own == same.own != other.own
    assert first().tree == first(3).tree == first(n=3).tree == same(3).tree
    assert row_values(first().tree, BARS)[5] == BARS.close[5] + 3
    text = f"{HEAD}import scipy.stats\n{BODY}"
    using = define_name(text.format(uses=", uses=('scipy',)"))
    assert dict(using.own.uses)["scipy"].startswith("1.")
    assert first.own.digest([3]) == same.own.digest([3])
    digests = {first.own.digest([3]), first.own.digest([4]), other.own.digest([3])}
    assert len(digests) == 3


def define(head, takes="bars", body="return bars.close"):
    """Text of an own indicator."""
    return f"{HEAD}{head}\ndef f({takes}):\n    {body}\n"


REFUSED_TEXTS = [
    (f"{HEAD}from scipy import stats\n{BODY.format(uses='')}", "uses=('scipy',)"),
    (HEAD + BODY.format(uses=", uses=('nobody',)"), "'nobody'"),
    (define("@indicator(warm_up=1)").replace("def f", "def rsi"), "'rsi'"),
    (f"{HEAD}def around(k):\n    @indicator(warm_up=1)\n    def f(bars):\n"
     "        return bars.close + k\n    return f\naround(2)\n", "k of a function around"),
    (f"{HEAD}indicator(warm_up=1)(max)\n", "plain function"),
    (define("@indicator(warm_up=1)", ""), "def f(bars)"),
    (define("@indicator(warm_up=1)", "bars, *n"), "*n"),
    (define("@indicator(warm_up=1)", "bars, *, n"), "def f(bars, n)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "word"), REFUSED_TEXTS, ids=range(len(REFUSED_TEXTS)))
def test_what_cannot_be_told_apart_is_refused(text, word):
    """With the place in the file."""
    with pytest.raises(PlacedError, match=rf"^file.py:[0-9]+: .*{re.escape(word)}"):
        define_name(text)
