"""Dates of a schedule, training and borders, on one market and on several."""

from data.bars import Window
from optimizer.schedule.dates import Schedule, plan_steps
from tests.support.series import MINUTE_NS, START_NS, make_bars

HOUR_NS = 60 * MINUTE_NS


def plan(*series, every=10, train=30, **changes):
    """Steps of a schedule, in hours, on whole series."""
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    return plan_steps(series, windows, Schedule(every * HOUR_NS, train * HOUR_NS, **changes))


def test_a_date_is_there_while_bars_are():
    """The last close ends the dates, and the last step may be short."""
    steps = plan(make_bars(51, HOUR_NS))
    assert [step.borders for step in steps] == [(30,), (40,), (50,)]
    assert [(w.start, w.end) for step in steps for w in step.train] == [(0, 30), (10, 40), (20, 50)]
    assert len(plan(make_bars(50, HOUR_NS))) == 2
    assert steps[0].date_ns == START_NS + 30 * HOUR_NS


def test_purge_shortens_training_and_anchored_begins_with_the_first_bar():
    """Bars before the border are cut, and nothing else moves."""
    steps = plan(make_bars(51, HOUR_NS), purge=4, is_anchored=True)
    assert [(w.start, w.end) for step in steps for w in step.train] == [(0, 26), (0, 36), (0, 46)]
    assert [step.borders for step in steps] == [(30,), (40,), (50,)]


def test_markets_share_dates():
    """A market that begins later is trained on what it has, and trades from the same moment."""
    late = make_bars(40, HOUR_NS, START_NS + 35 * HOUR_NS)
    steps = plan(make_bars(60, HOUR_NS), late)
    assert [step.borders for step in steps] == [(30, 0), (40, 5), (50, 15), (60, 25), (60, 35)]
    assert [len(step.train) for step in steps] == [1, 2, 2, 2, 2]
    assert [(w.series, w.start, w.end) for w in steps[1].train] == [(0, 10, 40), (1, 0, 5)]


def test_a_border_in_a_gap_is_the_first_bar_after_it():
    """A date without a bar is no bar of its own."""
    times = [START_NS + hour * HOUR_NS for hour in (*range(25), *range(45, 70))]
    bars = make_bars(50, HOUR_NS, timestamp=times)
    steps = plan(bars)
    assert [step.borders for step in steps] == [(25,), (25,), (30,), (40,)]
    assert [(w.start, w.end) for step in steps for w in step.train] == [
        (0, 25), (10, 25), (20, 30), (25, 40),
    ]  # fmt: skip
