"""When the next call may be made."""

import pytest

from data.vendor import calls
from data.vendor.calls import Pace


class Clock:
    """A clock that sleeping moves."""

    now = 0.0

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
    """In whatever 60 seconds one looks, there are at most so many; waits are told."""
    made, messages = [], []
    keeper = Pace(most, messages.append)
    for _ in range(40):
        keeper.take()
        made.append(clock.now)
        clock.now += busy_s
    for first, later in zip(made, made[most:], strict=False):
        assert later - first >= 60
    assert bool(messages) == (most * busy_s < 60)
