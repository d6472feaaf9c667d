"""Members as programs of other platforms: their rows, signals and prices, and what they trade."""

import re
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from engine.reference import Reference
from optimizer.errors import ConfigError
from optimizer.export.member import PLATFORM_PARTS
from optimizer.export.programs import build_program
from strategy import words
from tests.support import examples, own_words
from tests.support.exports import build_frame, build_task, compare_in_pine, run_program

EXAMPLES = sorted(name for name in vars(examples) if name.isupper())


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["seller_exhaustion", *EXAMPLES])
def test_a_script_asks_for_what_the_reference_takes(strategy, market, monkeypatch):
    """Every trade is asked for, with its entry, stop and target in every bit, and no bar more."""
    library = ModuleType("backtesting")
    library.Backtest = library.Strategy = object
    monkeypatch.setitem(sys.modules, "backtesting", library)
    task = build_task(strategy, market)
    names, genome = run_program(task, "backtesting.py"), task.spec.layout.defaults
    ledger = build_frame(task.full_engine(device="cpu").trades(genome)[0])
    plan = names["plan_of"](names["read_bars"](str(market)))
    signals = ledger["signal_bar"].to_numpy()
    assert len(signals)
    for name in ("side", "entry", "stop", "target"):
        assert getattr(plan, name)[signals].tolist() == ledger[name].tolist()
    reference = Reference(task.spec, task.markets.series, task.markets.windows, task.costs)
    (may,) = reference.signals(genome)
    (too_small,) = np.isin(may, np.flatnonzero(plan.side), invert=True).nonzero()
    assert set(np.flatnonzero(plan.side)) <= set(may)
    assert len(too_small) <= len(may) - len(signals)


LONG = {"long": words.close > words.open, "stop": words.share(0.02)}
BOTH = {**LONG, "short": words.close < words.open}
TICKS = {"market": words.market(tick="0.01")}
REST = words.stop_at(words.high, 3)
UNITS = words.account(1000, words.units(1))
NO_LIMIT = words.limit_at(words.close, through=1)

REFUSED = [
    (platform, "funding", LONG, {"funding": words.funding(0.001)}) for platform in PLATFORM_PARTS
] + [
    (platform, "named_stops", LONG, {"break_even": 1, "named_stops": True})
    for platform in sorted(set(PLATFORM_PARTS) - {"vectorbt"})
] + [
    ("nautilus_trader", "entry", LONG, {"entry": REST}),
    ("nautilus_trader", "trail", LONG, {"trail": words.trail(words.level(words.low))}),
    ("nautilus_trader", "even_offset", LONG,
     {"break_even": words.break_even(1, words.share(0.001))}),
    ("nautilus_trader", "exit_bounds", LONG,
     {"exit_long": words.in_trade(words.close < words.open, bars_from=2)}),
    ("freqtrade", "short", BOTH, {}),
    ("freqtrade", "session", LONG, {"session": words.session_exit(16 * 60)}),
    ("freqtrade", "entry", LONG, {"entry": REST}),
    ("vectorbt", "own indicator 'efficiency'", LONG, {"long": own_words.efficiency(20) > 0.5}),
    ("pine", "expires", BOTH, {"entry": words.stop_at(words.high), **TICKS}),
    ("pine", "slippage", BOTH, {"slippage": words.bp(3), **TICKS}),
    ("pine", "slippage", BOTH, {"slippage": words.by_side(words.ticks(1), None), **TICKS}),
    ("pine", "reverse=True", BOTH, {"entry": REST, "reverse": True, **TICKS}),
    ("pine", "account", BOTH, {"account": UNITS, **TICKS}),
    ("backtesting.py", "reverse=True", BOTH, {"entry": REST, "reverse": True}),
    ("backtesting.py", "delay", BOTH, {"reverse": True, "delay": 1}),
    ("backtesting.py", "one side", BOTH, {"entry": words.by_side(REST, None)}),
    ("backtesting.py", "cancel=by_side", BOTH,
     {"entry": REST, "cancel": words.by_side(words.close > 1, words.close > 2)}),
    ("backtesting.py", "through", BOTH, {"entry": NO_LIMIT, **TICKS}),
    ("backtesting.py", "slippage, funding, account", BOTH,
     {"slippage": words.bp(3), "funding": words.funding(0.001), "account": UNITS}),
]  # fmt: skip


@pytest.mark.parametrize(("platform", "word", "plan", "parts"), REFUSED)
def test_what_would_end_in_other_trades_is_refused(market, platform, word, plan, parts):
    """By the name of the part, on each platform that does not know it."""
    spec = words.strategy("R.", name="r", **{**plan, **parts})
    task = replace(build_task("seller_exhaustion", market), spec=spec)
    with pytest.raises(ConfigError, match=re.escape(word)):
        build_program(task, spec.layout.defaults, "A try.", platform)


@pytest.mark.parametrize(
    "costs", [{"fee_unit": 0.1}, {"fee_min": 1.0}, {"max_positions": 2}, {"max_leverage": 2.0}]
)
def test_a_cost_that_no_program_knows_is_refused(market, costs):
    """By its name; those that every program has are taken."""
    task = build_task("seller_exhaustion", market)
    task = replace(task, costs=replace(task.costs, fee_bp=1.0, **costs))
    with pytest.raises(ConfigError, match=f"^{next(iter(costs))}: "):
        build_program(task, task.spec.layout.defaults, "A try.", "vectorbt")


@pytest.mark.parametrize("platform", ["pine", "vectorbt", "backtesting.py"])
def test_a_name_of_a_record_is_no_program(market, platform):
    """Whatever stands in it ends no text and no comment of an exported member."""
    task = build_task("DONCHIAN_TRAIL", market)
    hostile = 'x", overlay = true)\nos.system("true")\r\u2028plot(1)\x85plot(2)\\'
    spec = replace(task.spec, name=hostile, summary=hostile)
    text = build_program(replace(task, spec=spec), spec.layout.defaults, "A try.", platform)
    plain = build_program(task, spec.layout.defaults, "A try.", platform)
    comment = "//" if platform == "pine" else "#"
    lines, expected = (
        [line for line in program.splitlines() if not line.startswith((comment, "strategy("))]
        for program in (text, plain)
    )
    assert expected == lines
    titles = re.findall('^strategy\\("(.*?)", overlay = true, pyramiding', text, re.MULTILINE)
    assert all(re.fullmatch(r"[\w .-]+", program) for program in titles)
    assert len(titles) == (platform == "pine")


@pytest.mark.parametrize("platform", ["pine", "vectorbt", "backtesting.py"])
def test_a_gene_may_have_a_word_of_python_as_its_name(market, platform):
    """It trades as the same gene by another name."""
    built = []
    for name in ("lambda", "lambda_"):
        stop = words.share(words.gene(name, 0.02, 0.01, 0.05))
        spec = words.strategy("R.", name="r", long=words.close > words.open, stop=stop)
        task = replace(build_task("seller_exhaustion", market), spec=spec)
        built.append(build_program(task, spec.layout.defaults, "A try.", platform))
    plain = built[1].replace("lambda_", "lambda")
    assert built[0].replace("lambda_", "lambda") == plain
    assert platform == "pine" or compile(built[0], "program", "exec")


NOT_IN_PINE = {
    "OPENING_RANGE": "opening_high",
    "RSI_PULLBACK": "higher",
    "SELLER_FIBONACCI": "swing_high",
    "VWAP_REVERSION": "vwap",
}


def every_word():
    """A strategy of the words that Pine has and no example uses."""
    rise, late = words.roc(words.close, 5), words.minute_of_day(60) >= 300
    room = words.minimum(words.atr(20), abs(words.high - words.low) / 2)
    return words.strategy(
        "Of many words.",
        name="of many words",
        long=words.held(rise > 0, 2) & late & (words.stoch(14) < 90),
        short=words.within(words.rsi(words.hl2, 7) < 45, 3) & (words.day_of_week(0) <= 4),
        exit_long=words.plus_di(14) < words.minus_di(14),
        stop=words.by_side(
            long=words.from_entry(words.maximum(2 * room, words.std(words.close, 30))),
            short=words.level(words.highest(words.high, 20)),
        ),
        target=words.by_side(
            long=words.level(words.wma(words.close, 9) + 3 * words.atr(14)), short=words.share(0.02)
        ),
        trail=words.trail(words.from_entry(2 * words.rma(words.true_range, 14)), after=0.5),
        session=words.session_exit(1200, 60, begins=1260),
        max_hold=30,
        delay=1,
    )


def later_words():
    """A strategy of the words that people look for by name."""
    side, stop = words.supertrend_side(10, 20), words.sar(2, 2, 20)
    strength = words.cci(words.hlc3, 20) + words.tsi(words.close, 5, 9)
    return words.strategy(
        "Of later words.",
        name="of later words",
        long=words.crosses_above(side, 0) | ((strength > 150) & (words.close > stop)),
        short=words.crosses_below(words.close, stop) & (words.mfi(14) < 60),
        exit_long=words.macd_histogram(words.close) < 0,
        exit_short=words.close > words.supertrend(7, 15),
        stop=words.from_entry(2 * words.atr_wilder(14)),
        target=words.level(words.bollinger_upper(words.close, 20, 2)),
    )


OF_WORDS = {"every_word": every_word, "later_words": later_words}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["seller_exhaustion", *OF_WORDS, *EXAMPLES])
def test_pine_keeps_the_ledger_of_the_run(strategy, market):
    """Or the refusal names the word that Pine lacks."""
    task = build_task("seller_exhaustion" if strategy in OF_WORDS else strategy, market)
    if strategy in OF_WORDS:
        task = replace(task, spec=OF_WORDS[strategy]())
    if strategy in NOT_IN_PINE:
        with pytest.raises(ConfigError, match=f"'{NOT_IN_PINE[strategy]}'"):
            build_program(task, task.spec.layout.defaults, "A try.", "pine")
        return
    compare_in_pine(task, 0.02)


@pytest.mark.parametrize("platform", ["backtesting.py", "vectorbt", "pine"])
def test_a_program_has_the_options_of_its_member(platform, market):
    """And neither others nor conditions that are off; its genes are named as they were searched."""
    task = build_task("CHOSEN_AVERAGE", market)
    genome = task.spec.layout.encode({"average": "wma", "source": "hl2", "busy": "off"})
    text = build_program(task, genome, "A try.", platform)
    assert "average wma, " in text
    assert "busy off" in text
    assert "wma(" in text
    assert "volume, 20" not in text
    shorts = task.spec.layout.encode({"shorts": "on"})
    assert build_program(task, shorts, "A try.", platform) != text
