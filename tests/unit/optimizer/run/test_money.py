"""Payments that bars carry, and money settings that a person has to say are meant."""

import re
from dataclasses import replace

import numpy as np
import pytest

from data.point_in_time import DatedNumbers
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.run.money import check_money, with_payments
from optimizer.run.remarks import late_remarks
from strategy import words as w
from tests.support.series import MINUTE_NS, START_NS, make_bars

HOUR_NS = 60 * MINUTE_NS
BARS = make_bars(48, HOUR_NS)
TIMES = START_NS // (480 * MINUTE_NS) * 480 * MINUTE_NS + np.arange(1, 6) * 8 * HOUR_NS


def pay(times, rates, *, trusts_rates=False):
    """The bars with payments."""
    numbers = DatedNumbers(np.asarray(times), np.asarray(rates, float), None)
    return with_payments(BARS, "fund", "fund.csv", numbers, trusts_rates=trusts_rates)


def test_payments_beside_the_bars_are_said():
    """Those that no bar can charge, and bars for which there are none."""
    assert pay(TIMES, np.full(5, 0.001)).notes == ()
    later = TIMES + 4 * 24 * HOUR_NS
    (note,) = pay([*TIMES, *later], np.full(10, 0.001)).notes
    assert "column 'fund': 5 of 10 payments are charged to no bar: they come before" in note
    (note,) = pay(TIMES[:2], [0.001, 0.002]).notes
    assert re.search(r"'fund': at \d+ bars before .* or after .* nothing is charged$", note)
    with pytest.raises(ConfigError, match=r"^--column-file fund: fund.csv pays from .* no bar of"):
        pay(later, np.full(5, 0.001))


@pytest.mark.parametrize("rate", [0.5, -0.11])
def test_a_rate_above_a_tenth_is_likely_in_percent(rate):
    """Of a file and in a strategy, as a number and as a bound of a gene; a flag takes it."""
    with pytest.raises(ConfigError, match=rf"pays {rate} at .*, or add --trust-rates$"):
        pay(TIMES, [rate, *[0.001] * 4])
    assert len(pay(TIMES, [rate, *[0.001] * 4], trusts_rates=True).payments["fund"].rates) == 5
    for said in (rate, w.gene("rate", 0.01, min(rate, 0.0), max(rate, 0.02))):
        strategy = build(funding=w.funding(said, 480))
        with pytest.raises(ConfigError, match=r"more than 0.1 of the price each .* --trust-rates"):
            check_money(strategy, RunConfig())
        check_money(strategy, RunConfig(trust_rates=True))
    check_money(build(funding=w.funding(0.1), borrow=w.borrow(0.1)), RunConfig())
    check_money(build(funding=w.funding(w.payments("fund"))), RunConfig())


def build(**parts):
    """A strategy with money."""
    return w.strategy("Money.", long=w.close > w.open, stop=w.share(0.1), **parts)


@pytest.mark.parametrize(("late", "is_said"), [(0, False), (11 * 10**6, True)])
def test_a_row_that_is_charged_one_late_is_told(late, is_said):
    """Numbers known milliseconds after the settlement change in the bar that is charged."""
    numbers = DatedNumbers(TIMES + late, np.arange(5.0) / 1000, None)
    bars = replace(BARS, extra={"fund": numbers.at_closes(BARS)}, dated=("fund",))
    lines = list(late_remarks(build(funding=w.funding(w.column("fund"), 480)), bars))
    assert len(lines) == is_said
    for line in lines:
        assert re.search(r"at 4 of \d payments the rate becomes known in the bar", line)
        assert 'funding(payments("NAME"))' in line
    moving = build(funding=w.funding(0.01 * w.roc(w.close, 5), 480))
    assert list(late_remarks(moving, bars)) == list(late_remarks(build(), bars)) == []


def test_bars_longer_than_a_charge_are_told():
    """A fee every 480 minutes is charged once a day; a fixed rate of funding each time."""
    days = make_bars(48, 24 * HOUR_NS)
    fee, row = w.borrow(0.0001, 480), w.funding(0.0001 + 0 * w.close, 480)
    for parts in ({"borrow": fee}, {"funding": row}):
        assert list(late_remarks(build(**parts), BARS)) == []
        (line,) = late_remarks(build(**parts), days)
        assert "a bar of 1d is charged once, though more than one payment is due in it" in line
    assert list(late_remarks(build(funding=w.funding(0.0001, 480)), days)) == []
