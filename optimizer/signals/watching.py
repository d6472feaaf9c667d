"""A source that grows, read again and again: each change of state is sent once."""

import json
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from string import Template

import urllib3
from urllib3.exceptions import HTTPError

from data.errors import DataError
from optimizer.errors import ConfigError, OptimizerError
from optimizer.signals.source import Signal, SignalSource

WEBHOOKS = ("https://", "http://")

LONGEST_S = 30.0
"""Seconds until a message counts as lost."""


class MessageError(OptimizerError):
    """A message did not arrive; its words hold no secret."""

    exit_code = 3


def check_target(target: str) -> None:
    """Refuse a target of messages that cannot be one: empty, or with an unknown variable.

    It is an address that begins with ``https://`` or ``http://``, or else a command; ``$NAME`` in
    it stands for a variable of the environment.
    """
    filled = _fill_secrets(target)
    if not target.startswith(WEBHOOKS) and not _split_command(filled):
        raise ConfigError("--on-change is empty: name a command, or an address of a webhook")


def send_message(target: str, body: Mapping[str, object]) -> None:
    """Send a body as JSON: by POST to a webhook, or to the standard input of a command."""
    text = json.dumps(body, allow_nan=False).encode()
    filled = _fill_secrets(target)
    if target.startswith(WEBHOOKS):
        _post(filled, text)
    else:
        _run(_split_command(filled), text)


def _post(address: str, text: bytes) -> None:
    try:
        answer = urllib3.request(
            "POST",
            address,
            body=text,
            headers={"Content-Type": "application/json"},
            redirect=False,
            retries=False,
            timeout=LONGEST_S,
        )
    except (HTTPError, OSError) as error:
        # Messages of the library show the address, which may hold a secret.
        raise MessageError(f"the webhook failed ({type(error).__name__})") from None
    if not 200 <= answer.status < 300:
        raise MessageError(f"the webhook answered with status {answer.status}")


def _run(words: list[str], text: bytes) -> None:
    try:
        ended = subprocess.run(
            words, input=text, stdout=subprocess.DEVNULL, timeout=LONGEST_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise MessageError(f"the command took more than {LONGEST_S:g} s") from None
    except OSError as error:
        raise MessageError(f"the command cannot be started ({error.strerror})") from None
    if ended.returncode:
        raise MessageError(f"the command ended with {ended.returncode}")


def _split_command(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise ConfigError("--on-change: a quotation mark is not closed") from None


def _fill_secrets(target: str) -> str:
    """A target with variables of the environment in it."""
    try:
        return Template(target).substitute(os.environ)
    except KeyError as error:
        raise ConfigError(
            f"--on-change names ${error.args[0]}, which the environment does not have"
        ) from None
    except ValueError:
        raise ConfigError("--on-change: write $$ for a plain $, or $NAME for a variable") from None


Note = Callable[[str], None]
StateKey = tuple[object, ...]


class ChangeWatcher:
    """States that were sent, and the target to which changes of them are sent, None for none.

    `note` hears of a message that did not arrive; without it that is an error.
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
        """Send all changes since a message arrived; a failed one is sent again."""
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

    `note` hears what failed, a line each, once while it lasts.
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
