"""Notes on questions that mean something else than they seem to."""

import pytest

from optimizer.run.remarks import SIZED, limit_remarks, question_remarks
from strategy.words import (
    account,
    by_side,
    close,
    crosses_above,
    gene,
    lag,
    length,
    limit_at,
    risk,
    share,
    sma,
    strategy,
    volatility,
)
from tests.support.worlds import make_bars

HOUR_NS = 3_600_000_000_000
RISES = crosses_above(close, sma(close, length("n", 20, 5, 50)))


def remarks(asked, lattice=None, timeframe_ns=HOUR_NS, is_scaled=True):
    """Notes on a strategy in words, scaled to hours."""
    scaled = asked.for_timeframe(timeframe_ns / 1e9) if is_scaled else asked
    return question_remarks(scaled, lattice, timeframe_ns, is_scaled=is_scaled)


def test_numbers_that_are_written_out_are_not_scaled():
    """15-minute lengths on hours: `sma(close, 100)` and its kind are named, genes are not."""
    mixed = strategy(
        "Mixed.", long=RISES & (close > sma(close, 100)), stop=share(0.02), timeframe="15m"
    )
    (line,) = remarks(mixed)
    assert "from 15m to 1h" in line
    assert "sma(close, 100)" in line
    assert "n" not in line.partition("are not: ")[2].partition(";")[0].split()
    assert remarks(mixed, is_scaled=False) == ()
    assert remarks(mixed, timeframe_ns=HOUR_NS // 4) == ()
    assert remarks(strategy("Genes.", long=RISES, stop=share(0.02), timeframe="15m")) == ()


@pytest.mark.parametrize(
    ("stop", "count"),
    [
        (share(2.0), 1),
        (share(gene("p", 0.5, 0.1, 3.0)), 1),
        (share(0.99), 0),
        (by_side(share(0.5), share(2.0)), 0),
    ],
)
def test_a_long_stop_below_zero_is_named_with_its_range(stop, count):
    """From 1 on a share of a long leaves no price to stop at; a short's may be larger."""
    short = crosses_above(sma(close, 20), close)
    lines = remarks(strategy("Far.", long=RISES, short=short, stop=stop), is_scaled=False)
    assert len(lines) == count
    assert all("below 1" in line for line in lines)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"break_even": 0.01}, "break_even=0.01 counts units of risk"),
        ({"break_even": 1}, None),
        ({"break_even": gene("gain", 0.5, 0.0, 2.0)}, None),
        ({"target": share(5)}, "lies 500 % from the entry: 5 % is share(0.05)"),
        ({"target": share(0.5)}, None),
        ({"account": account(1000, risk(1))}, "by a stop: 1 % is 0.01"),
        ({"account": account(1000, volatility(2, close))}, "200 % of the cash by a move as large"),
        ({"account": account(1000, risk(0.02))}, None),
    ],
)
def test_a_unit_that_was_mistaken_is_named(parts, message):
    """What is counted in risks, and what is a fraction; what is plausible is left alone."""
    asked = strategy("Units.", long=RISES, stop=share(0.02), **parts)
    lines = [line for line in remarks(asked, is_scaled=False) if line != SIZED]
    assert len(lines) == (message is not None)
    assert all(message in line for line in lines)


def test_a_limit_beyond_the_close_is_named():
    """One row for both sides is right for one of them; each with its own is for both."""
    bars, up, down = make_bars(3, 400), close > lag(close, 1), close < lag(close, 1)
    below, above = limit_at(close * 0.99), limit_at(close * 1.01)
    both = {"long": up, "short": down, "stop": share(0.02)}
    (line,) = limit_remarks(strategy("One row.", entry=below, **both), bars)
    signals = int((bars.close[1:] < bars.close[:-1]).sum())
    assert f"below the close at {signals} of {signals} signals of shorts, and fills at once" in line
    assert list(limit_remarks(strategy("Two.", entry=by_side(below, above), **both), bars)) == []
    reversed_sides = strategy("Two.", entry=by_side(above, below), **both)
    assert len(list(limit_remarks(reversed_sides, bars))) == 2
    assert list(limit_remarks(strategy("At it.", entry=limit_at(close), **both), bars)) == []
