"""Bars kept as files: whole, exact, and never over something else in silence."""

from dataclasses import replace

import numpy as np
import pytest

from data import LoadOptions, keep_bars, load_bars
from data.errors import SourceError
from tests.support.series import make_bars


def test_aligned_columns_are_kept_and_dated_ones_are_not(tmp_path):
    """By name, with every bit; other values are other bars."""
    mood = np.array([1, np.nan, -0.0, 4])
    bars = make_bars(4, extra={"mood": mood})
    path, _ = keep_bars(bars, tmp_path)
    options = LoadOptions(timeframe="15m", aligned_columns=("mood",))
    assert load_bars(str(path), options).content_hash == bars.content_hash
    assert not keep_bars(bars, tmp_path)[1]
    for other, words in (
        (replace(bars, extra={"mood": -mood}), "other bars"),
        (replace(bars, dated=("mood",)), "'mood' is dated"),
    ):
        with pytest.raises(SourceError, match=words):
            keep_bars(other, tmp_path)


def test_other_bars_are_replaced_only_when_allowed(tmp_path):
    """The file stays as it was without the option."""
    path, _ = keep_bars(make_bars(50), tmp_path)
    before = path.read_bytes()
    with pytest.raises(SourceError, match="holds other bars; --replace"):
        keep_bars(make_bars(51), tmp_path)
    assert path.read_bytes() == before
    assert keep_bars(make_bars(51), tmp_path, may_replace=True) == (path, True)
    assert len(load_bars(str(path))) == 51


@pytest.mark.parametrize(
    "symbol",
    ["../../x", "/abs", "X:BTCUSD", "BRK/B", "NA", "a b", ".hidden", "\U0001f4c8", "x" * 64],
)
def test_every_symbol_has_a_file_within_the_folder(tmp_path, symbol):
    """Whatever a market is called, its file lies in the given folder."""
    path, _ = keep_bars(make_bars(5, symbol=symbol), tmp_path / "bars")
    assert path.resolve().parent == (tmp_path / "bars").resolve()
    assert load_bars(f"parquet:{path}").symbol == symbol
    assert not path.name.startswith(".")
    assert [file.name for file in tmp_path.iterdir()] == ["bars"]
