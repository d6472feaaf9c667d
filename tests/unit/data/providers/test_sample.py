"""The embedded sample: what it is, and that damage shows."""

import shutil

import pytest

from data import LoadOptions, load_bars
from data.errors import SourceError
from data.providers.sample import FOLDER, read_sample


@pytest.fixture(scope="module")
def bars():
    """The sample."""
    return load_bars("sample")


def test_sample_says_that_it_is_simulated(bars):
    """Name, mark and first note leave no doubt."""
    assert bars.symbol == "SIMULATED"
    assert bars.is_simulated
    assert bars.notes[0].startswith("simulated market")
    assert len(bars.notes) == 2
    assert bars.notes[1].startswith("127 gaps, 264 bars missing; the longest from 2024-11-23T05:30")


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
