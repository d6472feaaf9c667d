"""A source that grows, read again and again: each change of state is sent once."""

import time
from collections.abc import Callable, Iterator

from data.errors import DataError
from optimizer.errors import OptimizerError
from optimizer.signals.messages import MessageError, send_message
from optimizer.signals.source import Signal, SignalSource

Note = Callable[[str], None]
StateKey = tuple[object, ...]


class ChangeWatcher:
    """States that were sent, and where changes of them are sent.

    Args:
        target: Of messages, as `check_target` takes it; None where none are sent.
        note: Hears of a message that did not arrive; None where it is an error.
    """

    def __init__(self, target: str | None, note: Note | None = None) -> None:
        self._target, self._note = target, note
        self._shown: dict[str, StateKey] = {}
        self._sent: dict[str, StateKey] = {}

    def take_changed(self, signal: Signal) -> tuple[str, ...]:
        """Symbols with a changed state since the last reading; the first changes all."""
        before, self._shown = self._shown, _list_keys(signal)
        return _list_changed(before, self._shown)

    def send(self, signal: Signal) -> None:
        """Send all changes since a message arrived; a failed one is sent again.

        Raises:
            MessageError: When it does not arrive, and nothing hears of it.
        """
        keys = _list_keys(signal)
        changed = _list_changed(self._sent, keys)
        if self._target is None or not changed:
            return
        try:
            send_message(self._target, {**signal.payload(), "changed": list(changed)})
        except MessageError as error:
            if self._note is None:
                raise
            self._note(f"--on-change: {error}; it is sent again at the next reading")
            return
        self._sent = keys


def _list_keys(signal: Signal) -> dict[str, StateKey]:
    return {state.symbol: state.key for state in signal.symbols}


def _list_changed(before: dict[str, StateKey], now: dict[str, StateKey]) -> tuple[str, ...]:
    return tuple(name for name, key in now.items() if before.get(name) != key)


def watch_source(
    source: SignalSource,
    every_s: float,
    note: Note,
    read_clock: Callable[[], int] = time.time_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Signal]:
    """Readings of a source, without end; the first may fail, later ones are tried again.

    Args:
        source: What is read.
        every_s: Seconds between readings.
        note: Hears what failed, a line each, once while it lasts.
        read_clock: Time, nanoseconds UTC.
        sleep: Waits seconds.
    """
    yield source.read(read_clock())
    noted_error = ""
    while True:
        sleep(every_s)
        try:
            signal = source.read(read_clock())
        except (DataError, OptimizerError, OSError) as error:
            if str(error) != noted_error:
                note(f"{error}; it is read again in {every_s:g} s")
            noted_error = str(error)
            continue
        noted_error = ""
        yield signal
