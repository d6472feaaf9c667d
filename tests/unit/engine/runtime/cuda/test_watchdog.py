"""How long a device is waited for, with a clock that a test moves."""

from contextlib import suppress

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.backend import Sent  # noqa: E402
from engine.cuda.streams import Lane, Ticket  # noqa: E402
from engine.errors import DeviceLostError  # noqa: E402
from engine.runtime.cuda import faults, watchdog  # noqa: E402
from engine.runtime.cuda.faults import device_errors  # noqa: E402
from engine.runtime.cuda.watchdog import (  # noqa: E402
    FIRST_S,
    FIRST_WAITS,
    LEAST_S,
    Watchdog,
)

TICK = 1e-5


class Time:
    """A clock that each look at it moves a little, and each pause by what was asked for."""

    def __init__(self, tick=TICK):
        """Begin at 0."""
        self.now, self.tick, self.pauses = 0.0, tick, []

    def clock(self):
        """Seconds."""
        self.now += self.tick
        return self.now

    def pause(self, seconds):
        """Sleep."""
        self.now += seconds
        self.pauses.append(seconds)

    def until(self, end):
        """What is done from a moment on."""
        return lambda: self.now >= end

    def takes(self, seconds):
        """What is done so long from now."""
        return self.until(self.now + seconds)


@pytest.fixture
def time():
    """A clock at 0."""
    return Time()


def make_watchdog(time):
    """A watchdog that looks at that clock."""
    return Watchdog(time.clock, time.pause)


def outlasts(watchdog, time, seconds):
    """Whether a wait of so many seconds ends well."""
    time.tick, tick = 0.5, time.tick
    end = time.now + seconds
    with suppress(DeviceLostError):
        watchdog.wait(time.until(end))
    time.tick = tick
    return time.now >= end


@pytest.mark.parametrize(("waits", "limit"), [(0, FIRST_S), (FIRST_WAITS, LEAST_S)])
def test_a_device_that_hangs_is_noticed(time, waits, limit):
    """First waits may take long; one that answered at once is given a minute."""
    watchdog = make_watchdog(time)
    for _ in range(waits):
        watchdog.wait(time.takes(1e-4))
    assert outlasts(watchdog, time, limit - 2)
    assert not outlasts(watchdog, time, limit + 2)


def test_a_lane_that_hangs_ends_in_an_error_and_nothing_is_asked_after_it(time, monkeypatch):
    """The guarded call raises, and no later one touches the device."""

    class Hanging:
        asked = 0

        def query(self):
            self.asked += 1
            return False

    monkeypatch.setattr(watchdog, "_WATCHDOG", Watchdog(Time(0.5).clock, lambda seconds: None))
    monkeypatch.setattr(faults, "_LOST", [])
    lane, stream = Lane(torch.device("cpu")), Hanging()
    lane._stream = stream
    lane._ticket = Ticket(Sent(np.zeros((1, 1)), (), None, np.zeros((1, 1, 1))), None)
    finish = device_errors(lane.finish)
    with pytest.raises(DeviceLostError, match="300 s"):
        finish()
    asked = stream.asked
    with pytest.raises(DeviceLostError, match="300 s"):
        device_errors(lambda: stream.query())()
    assert stream.asked == asked
