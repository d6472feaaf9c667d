"""When the next call may be made."""

import pytest

from data.vendor import calls
from data.vendor.calls import Pace, backoff_s


class Clock:
    """A clock that sleeping moves."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        """The time."""
        return self.now

    def sleep(self, seconds):
        """Move on."""
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    """The clock of the pace."""
    clock = Clock()
    monkeypatch.setattr(calls, "time", clock)
    return clock


@pytest.mark.parametrize("most", [1, 5, 7])
@pytest.mark.parametrize("busy_s", [0.0, 3.0, 70.0])
def test_no_minute_has_more_calls_than_allowed(clock, most, busy_s):
    """In whatever 60 seconds one looks, there are at most so many."""
    made, messages = [], []
    keeper = Pace(most, messages.append)
    for _ in range(40):
        keeper.take()
        made.append(clock.now)
        clock.now += busy_s
    for first, later in zip(made, made[most:], strict=False):
        assert later - first >= 60
    assert bool(messages) == (most * busy_s < 60)


@pytest.mark.parametrize("made", [0, 3, 5, 9])
@pytest.mark.parametrize("left", [0, 1, 5, 24])
def test_the_time_left_is_the_time_that_it_takes(clock, made, left):
    """Noted waits before calls equal the clock after them."""
    keeper = Pace(5, lambda line: None)
    for _ in range(made):
        keeper.take()
        clock.now += 2.5
    keeper._answers, keeper._answers_s = 2, 5.0
    expected = keeper.estimate_seconds(left)
    began = clock.now
    for _ in range(left):
        keeper.take()
        clock.now += 2.5
    assert clock.now - began == pytest.approx(expected)


def test_waits_double_to_a_minute():
    """Each lies between half of its length and all of it."""
    for failures in range(1, 12):
        longest = min(2.0 ** (failures - 1), 60)
        waits = [backoff_s(failures) for _ in range(200)]
        assert longest / 2 <= min(waits)
        assert max(waits) <= longest
        assert len(set(waits)) > 10


def test_short_waits_are_not_told(clock):
    """A line is for a second or more."""
    messages = []
    keeper = Pace(1, messages.append)
    keeper.pause(0.5, "x")
    keeper.pause(12.4, "the plan")
    keeper.pause(-3, "x")
    assert messages == ["waiting 12 s: the plan"]
    assert clock.now == pytest.approx(12.9)
