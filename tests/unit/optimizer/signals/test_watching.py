"""A source that is watched: changes are sent once, and what fails is tried again."""

import json
from itertools import islice, pairwise

import pytest

from data.errors import DataError
from optimizer.signals.watching import ChangeWatcher, watch_source


def growing_clock(market, counts):
    """A clock and a sleep between whose calls the file grows."""
    counts = iter(counts)
    now = [market.write(next(counts))]

    def sleep(seconds):
        now[0] = market.write(next(counts))

    return lambda: now[0], sleep


def test_each_change_is_told_once(market, tmp_path):
    """Messages are the changes: all of them, each once, and the first reading."""
    sent = tmp_path / "sent"
    changes, keys = ChangeWatcher(f"sh -c 'cat >> {sent}; echo >> {sent}'", print), []
    clock, sleep = growing_clock(market, range(1200, 1240))
    for signal in islice(watch_source(market.source(), 1, print, clock, sleep), 30):
        if changes.take_changed(signal):
            keys.append(signal.symbols[0].key)
        changes.send(signal)
    messages = [json.loads(line) for line in sent.read_text().splitlines()]
    assert len(messages) == len(keys) > 2
    assert all(key != after for key, after in pairwise(keys))
    assert [message["symbols"][0]["state"] for message in messages] == [key[0] for key in keys]
    assert messages[0]["changed"] == [messages[0]["symbols"][0]["symbol"]]


def test_a_message_that_fails_is_sent_again(market, tmp_path):
    """The next reading brings it, whether the state changed again or not."""
    noted, gate = [], tmp_path / "gate"
    changes = ChangeWatcher(f"test -e {gate}", noted.append)
    signal = market.source().read(market.write(1200))
    assert changes.take_changed(signal)
    for _ in range(2):
        changes.send(signal)
    gate.touch()
    for _ in range(2):
        changes.send(signal)
    assert [line.startswith("--on-change: ") for line in noted] == [True, True]
    assert not changes.take_changed(signal)


def test_a_source_that_cannot_be_read_is_read_again(market):
    """A file in the middle of being written is no end; the first reading has to succeed."""
    noted = []
    clock, sleep = growing_clock(market, range(1200, 1300))

    def sleep_and_break(seconds):
        sleep(seconds)
        if not noted:
            market.file.write_text("timestamp,open\n1,")

    readings = watch_source(market.source(), 1, noted.append, clock, sleep_and_break)
    assert next(readings).symbols[0].bar < next(readings).symbols[0].bar
    assert len(noted) == 1
    market.file.write_text("timestamp,open\n1,")
    with pytest.raises(DataError):
        next(watch_source(market.source(), 1, noted.append, clock, sleep))
