"""Mean R that is expected of a member, and of a year: check values, order, sources."""

from dataclasses import replace

import pytest

from optimizer.evidence.expectation import AccountPart, add_year, expect, expect_year
from optimizer.evidence.figures import Figure
from optimizer.evidence.out_of_sample import UNKNOWN, Unseen

NULLS = (1.5, 2.0, 2.5)
FOLDS = Unseen(40, 30, Figure(0.2), UNKNOWN, Figure(1.0))


# By hand: a chance of e^((z - 3.1) / 0.4) to 1 for an edge of z - 1.4, else -0.3.
@pytest.mark.parametrize(
    ("mean_r", "strength", "mean", "low", "high"),
    [
        (0.4, 2.0, -0.049184, -0.185462, 0.087093),
        (0.6, 3.1, 0.135484, -0.164708, 0.435676),
        (0.8, 4.0, 0.464697, 0.161478, 0.767916),
        (1.2, 6.0, 0.919305, 0.698811, 1.139798),
    ],
)
def test_null_searches_take_what_selection_reaches(mean_r, strength, mean, low, high):
    """Check values of members below, at and above the strength where an edge is likelier."""
    made = expect(mean_r, strength, NULLS)
    assert (made.mean, made.low, made.high) == pytest.approx((mean, low, high), abs=1e-6)
    assert (made.shown, made.nulls, made.fold_trades) == (mean_r, 3, 0)


def test_more_strength_is_expected_to_keep_more_and_none_more_than_is_shown():
    """By the same null searches; of a member that lost no less is shown."""
    shares = [expect(z, z, NULLS).mean for z in (0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 400.0)]
    assert shares == sorted(shares)
    for z, share in zip((0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 400.0), shares, strict=True):
        assert share < z
    assert expect(-0.5, -2.0, NULLS).mean == -0.5


@pytest.mark.parametrize(
    ("nulls", "folds", "sources"),
    [
        (NULLS, FOLDS, (3, 0)),
        ((2.0, None, 2.0), FOLDS, (2, 0)),
        ((2.0, None), FOLDS, (0, 40)),
        ((), replace(FOLDS, trades=9), None),
        ((2.0,), None, None),
        ((), None, None),
    ],
)
def test_folds_speak_where_null_searches_do_not(nulls, folds, sources):
    """With ten trades or more; a single null search is not heard."""
    made = expect(0.8, 4.0, nulls, folds)
    assert (made and (made.nulls, made.fold_trades)) == sources


def test_a_gain_of_folds_is_raised_as_their_picks_saw_fewer_bars():
    """Not beyond what is shown, and a loss is none of it."""
    made = expect(0.8, 4.0, (), FOLDS)
    assert (made.mean, made.high - made.mean) == pytest.approx((0.25, 1.2816 * 0.08**0.5))
    assert expect(0.1, 1.0, (), FOLDS).mean == 0.1
    lost = replace(FOLDS, mean_r=Figure(-0.2), strength=Figure(-1.0))
    assert expect(0.8, 4.0, (), lost).mean == -0.2


@pytest.mark.parametrize("number", [0.0, None])
def test_nothing_is_expected_without_trades_that_moved(number):
    """Of whose standard error nothing is known."""
    assert expect(number, number, NULLS) is None


KNOWN = expect(0.8, 4.0, NULLS)


# By hand: e^(40 trades * 0.01 * (mean - 0.8)) of 1.5; where nothing says how much one R is, 40
# means. Trades sized otherwise: one R is ln 1.5 of 40 * 0.8 R.
@pytest.mark.parametrize(
    ("trades", "growth", "stake", "year"),
    [
        (40.0, 0.5, 0.01, (0.311726, 0.161900, 0.480873, 0.5)),
        (40.0, -0.1, 0.01, (-0.212964, -0.302860, -0.111476, -0.1)),
        (40.0, -1.0, 0.01, (-1.0, -1.0, -1.0, -1.0)),
        (40.0, 0.5, None, (0.265571, 0.085285, 0.475806, 0.5)),
        (40.0, -0.1, None, (18.587892, 6.459132, 30.716653, 32.0)),
        (40.0, None, 0.01, (18.587892, 6.459132, 30.716653, 32.0)),
        (None, None, 0.01, None),
    ],
)
def test_a_year_follows_from_trades_and_the_stake(trades, growth, stake, year):
    """Growth of the account; R of so many trades where its share of the account is not known."""
    made = add_year(KNOWN, trades, growth, stake).year
    is_r = year is not None and year[3] == 32.0
    assert (made and (made.mean, made.low, made.high, made.shown)) == (
        year and pytest.approx(year, abs=1e-6)
    )
    assert made is None or made.is_r == is_r
    assert ("That is " in add_year(KNOWN, trades, growth, stake).describe()) == (year is not None)


@pytest.mark.parametrize(
    ("alike", "low", "high"),
    [(0.0, -0.033722, 0.361721), (0.5, -0.070263, 0.415240), (-1.0, 0.147084, 0.147084)],
)
def test_parts_of_an_account_err_together_as_far_as_they_are_alike(alike, low, high):
    """Each takes from growth what is not expected of it; equal ones against each other cancel."""
    parts = [AccountPart(KNOWN, 40.0, 0.01), AccountPart(KNOWN, 20.0, 0.02)]
    year = expect_year(0.5, parts, [[1.0, alike], [alike, 1.0]])
    assert (year.mean, year.low, year.high) == pytest.approx((0.147084, low, high), abs=1e-6)
