"""A source that is watched: changes are sent once, and what fails is tried again."""

import json
from itertools import islice, pairwise

import pytest

from data.errors import DataError
from optimizer.signals.watching import ChangeWatcher, watch_source
from tests.support.signals import GrowingMarket


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A run, and a file that any test may cut anew."""
    return GrowingMarket(tmp_path_factory.mktemp("watched"))


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
    append = f"sh -c 'cat >> {sent}; echo >> {sent}'"
    changes, lines = ChangeWatcher(append, print), []
    clock, sleep = growing_clock(market, range(1200, 1261))
    for signal in islice(watch_source(market.source(), 1, print, clock, sleep), 60):
        if changes.take_changed(signal):
            lines.append(signal.symbols[0].key)
        changes.send(signal)
    messages = [json.loads(line) for line in sent.read_text().splitlines()]
    assert len(messages) == len(lines) > 4
    assert all(key != after for key, after in pairwise(lines))
    assert [message["symbols"][0]["state"] for message in messages] == [key[0] for key in lines]
    assert all(message["about"] == "This places no order." for message in messages)
    assert messages[0]["changed"] == [messages[0]["symbols"][0]["symbol"]]


def test_a_message_that_fails_is_sent_again(market, tmp_path):
    """The next reading brings it, whether the state changed again or not."""
    noted, gate = [], tmp_path / "gate"
    changes = ChangeWatcher(f"test -e {gate}", noted.append)
    signal = market.source().read(market.write(1200))
    assert changes.take_changed(signal)
    changes.send(signal)
    changes.send(signal)
    assert (
        noted == ["--on-change: the command ended with 1; it is sent again at the next reading"] * 2
    )
    gate.touch()
    changes.send(signal)
    changes.send(signal)
    assert len(noted) == 2
    assert not changes.take_changed(signal)


def test_a_source_that_cannot_be_read_is_read_again(market):
    """A file in the middle of being written is no end; the first reading has to succeed."""
    noted = []
    clock, sleep = growing_clock(market, range(1200, 1300))

    def sleep_and_break(seconds):
        sleep(seconds)
        if len(noted) == 0:
            market.file.write_text("timestamp,open\n1,")

    readings = watch_source(market.source(), 1, noted.append, clock, sleep_and_break)
    assert next(readings).symbols[0].bar
    assert next(readings).symbols[0].bar
    assert len(noted) == 1
    assert "it is read again in 1 s" in noted[0]
    market.file.write_text("timestamp,open\n1,")
    with pytest.raises(DataError):
        next(watch_source(market.source(), 1, noted.append))
