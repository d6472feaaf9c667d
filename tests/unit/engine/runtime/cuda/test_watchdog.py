"""How long a device is waited for, with a clock that a test moves."""

from itertools import count

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.backend import Sent  # noqa: E402
from engine.cuda.streams import Lane, Ticket  # noqa: E402
from engine.errors import DeviceLostError  # noqa: E402
from engine.runtime.cuda import faults, watchdog  # noqa: E402
from engine.runtime.cuda.faults import device_errors  # noqa: E402
from engine.runtime.cuda.watchdog import Watchdog  # noqa: E402


def test_a_lane_that_hangs_ends_in_an_error_and_nothing_is_asked_after_it(monkeypatch):
    """The guarded call raises, and no later one touches the device."""

    class Hanging:
        asked = 0

        def query(self):
            self.asked += 1
            return False

    monkeypatch.setattr(
        watchdog, "_WATCHDOG", Watchdog(count(0.0, 0.5).__next__, lambda seconds: None)
    )
    monkeypatch.setattr(faults, "_LOST", [])
    lane, stream = Lane(torch.device("cpu")), Hanging()
    lane._stream = stream
    lane._ticket = Ticket(Sent(np.zeros((1, 1)), (), None, np.zeros((1, 1, 1))))
    finish = device_errors(lane.finish)
    with pytest.raises(DeviceLostError, match="300 s"):
        finish()
    asked = stream.asked
    with pytest.raises(DeviceLostError, match="300 s"):
        device_errors(lambda: stream.query())()
    assert stream.asked == asked


def test_a_lane_whose_wait_was_interrupted_is_waited_for_again():
    """What it launched may still read what the next call would overwrite."""

    class Interrupted:
        asked = 0

        def query(self):
            self.asked += 1
            if self.asked == 1:
                raise KeyboardInterrupt
            return True

    class Buffers:
        def read(self, out, account):
            return 7

    lane = Lane(torch.device("cpu"))
    lane._stream, lane.outcomes = Interrupted(), Buffers()
    lane._ticket = ticket = Ticket(Sent(np.zeros((1, 1)), (), None, np.zeros((1, 1, 1))))
    with pytest.raises(KeyboardInterrupt):
        lane.finish()
    assert lane.holds(ticket)
    lane.finish()
    assert ticket.most == 7
    assert not lane.holds(ticket)
