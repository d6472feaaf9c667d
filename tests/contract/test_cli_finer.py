"""--finer: hours that are read by the quarters of which they are made up."""

from pathlib import Path

import pytest

from optimizer.run.purposes import recorded_config
from optimizer.store import RunStore
from tests.support.commands import SMALL, write_market

HOURS = ("--timeframe", "1h", "--strategy", "mean_reversion")


@pytest.fixture
def market(tmp_path):
    """Quarters of an hour, as a source."""
    return write_market(tmp_path / "bars.csv", 4000)


def read_digest(found):
    """What decides the results of a run, as one hash, and the sources of its finer bars."""
    with RunStore.open(Path(found["path"])) as store:
        return store.header["identity"]["digest"], recorded_config(store, {}).finer


def test_a_search_on_finer_bars_is_another_one(command, market, tmp_path):
    """It is certified, recorded, replayed and resumed with them; without them nothing is noted."""
    ask = ("evolve", "--data", market, *HOURS, *SMALL, "--json")
    plain, fine = command(*ask).json, command(*ask, "--finer", market).json
    assert fine["certificate"]["mismatches"] == 0
    assert any("1,001 of 1,001 bars are made up" in note for note in fine["data"]["notes"])
    assert not any("made up" in note for note in plain["data"]["notes"])
    digests = [read_digest(result) for result in (fine, plain)]
    assert digests[0][0] != digests[1][0]
    assert [finer for _, finer in digests] == [[market], []]
    resumed = command("evolve", "--resume", fine["path"], "--generations", "3", "--no-report")
    assert resumed.code == 0
    (window,) = command("backtest", "--run", fine["path"], "--member", "0", "--json").json[
        "windows"
    ]
    assert window["accumulators"]["coarse"] == 0
    other = write_market(tmp_path / "other.csv", 4000, seed=4)
    replayed = ("backtest", "--run", fine["path"], "--member", "0", "--data", other)
    assert "bars of another market need --finer of their own" in command(*replayed).error
    assert command(*replayed, "--finer", other).code == 0
    refused = command(
        "runs", "export", fine["path"], "member.pine", "--as", "pine", "--member", "0"
    )
    assert "finer: no exported program reads bars by finer ones" in refused.error
