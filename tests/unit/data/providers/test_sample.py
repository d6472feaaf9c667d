"""The embedded sample: what it is, and that damage shows."""

import shutil

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.errors import SourceError
from data.providers.sample import FOLDER, read_sample


@pytest.fixture(scope="module")
def bars():
    """The sample."""
    return load_bars("sample")


def test_sample_is_a_year_of_quarter_hours(bars):
    """Exactly 35,040 bars over a little more than a year."""
    assert len(bars) == 35_040
    assert bars.timeframe == "15m"
    days = (bars.timestamp[-1] - bars.timestamp[0]) / (86_400 * 10**9)
    assert 365 < days < 370


def test_sample_says_that_it_is_simulated(bars):
    """Name, mark and first note leave no doubt."""
    assert bars.symbol == "SIMULATED"
    assert bars.is_simulated
    assert bars.notes[0].startswith("simulated market")
    assert len(bars.notes) == 2
    assert bars.notes[1].startswith("127 gaps, 264 bars missing; the longest from 2024-11-23T05:30")


def test_sample_has_the_habits_it_claims(bars):
    """Gaps, fat tails, clusters of volatility, volume that follows activity, no free lunch."""
    assert bars.gaps().count > 100
    moves = np.diff(np.log(bars.close))
    size = np.abs(moves) - np.abs(moves).mean()
    assert ((moves - moves.mean()) ** 4).mean() / moves.var() ** 2 > 6
    assert (size[96:] * size[:-96]).mean() / size.var() > 0.05
    assert np.corrcoef(bars.volume[1:], np.abs(moves))[0, 1] > 0.3
    assert abs(np.corrcoef(moves[1:], moves[:-1])[0, 1]) < 0.08


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("sample.parquet", lambda raw: raw[:5000] + bytes([raw[5000] ^ 1]) + raw[5001:]),
        ("sample.sha256", lambda raw: b""),
        ("sample.sha256", lambda raw: raw[:82] + b"0" + raw[83:]),
    ],
    ids=["bit", "no_hash", "other_bars"],
)
def test_damaged_sample_is_refused(tmp_path, name, damage):
    """One flipped bit is enough, in the bars or in the hashes."""
    for original in ("sample.parquet", "sample.sha256"):
        shutil.copy(FOLDER / original, tmp_path / original)
    path = tmp_path / name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(SourceError, match=r"sample in .* is damaged .*install the project again"):
        read_sample(tmp_path, LoadOptions())
