"""Ctrl-C and SIGTERM: how a command that is asked to end does so at once."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

STOPS = (signal.SIGINT, signal.SIGTERM)


def stop_now(received: int, frame: FrameType | None) -> None:
    """Handle a signal by ending whatever is going on.

    Raises:
        KeyboardInterrupt: Always.
    """
    raise KeyboardInterrupt


@contextlib.contextmanager
def stopping_at_once() -> Iterator[None]:
    """Let both signals end what is going on, until the context ends."""
    before = {stop: signal.signal(stop, stop_now) for stop in STOPS}
    try:
        yield
    finally:
        for stop, handler in before.items():
            signal.signal(stop, handler)
