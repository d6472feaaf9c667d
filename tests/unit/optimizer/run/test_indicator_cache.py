"""Rows of own indicators that are kept from run to run: read again, never stale, never too many."""

import dataclasses
import math

import numpy as np
import pytest

from optimizer.run import indicator_cache
from optimizer.run.indicator_cache import RowCache, keeping_rows
from strategy.errors import IndicatorError
from strategy.lookahead_check import prove_bounds, prove_causal
from strategy.series import Series
from strategy.words import close, gene, higher, share, strategy, whole
from tests.support.own_words import CALLS, OUTSIDE, counted, whole_mean
from tests.support.worlds import make_bars

BARS = make_bars(9, 400)
SERIES = Series.of(BARS)


@pytest.fixture(autouse=True)
def keeps_all(monkeypatch):
    """Every row takes long enough, and nothing was asked yet."""
    monkeypatch.setattr(indicator_cache, "WORTH_S", -math.inf)
    CALLS.clear()
    yield
    OUTSIDE[0] = 0.0


def keep_rows(folder, own=counted.own):
    """The indicator as a new process has it, its rows kept there."""
    return dataclasses.replace(own, kept=RowCache(folder))


def test_a_row_is_computed_once_for_all_runs(tmp_path):
    """Its bits are those of the function, which is not called again."""
    first = keep_rows(tmp_path).row(SERIES, (3,))
    again = keep_rows(tmp_path).row(Series.of(BARS), (3,))
    assert CALLS == [(400, 3)]
    assert first.tobytes() == again.tobytes() == counted.own.row(SERIES, (3,)).tobytes()
    assert not again.flags.writeable
    assert np.isnan(keep_rows(tmp_path).row(Series.of(BARS.until(3)), (3,))).all()


@pytest.mark.parametrize("what", ["values", "bars", "extra", "text", "libraries", "machine"])
def test_whatever_decides_a_row_names_its_file(tmp_path, what, monkeypatch):
    """A row of anything else is computed."""
    keep_rows(tmp_path).row(SERIES, (3,))
    own, series, values = counted.own, SERIES, (3,)
    if what == "values":
        values = (4,)
    if what == "bars":
        series = SERIES.until(399)
    if what == "extra":
        series = dataclasses.replace(SERIES, extra={"mood": SERIES.close})
    if what == "text":
        own = dataclasses.replace(own, text_sha256="other")
    if what == "libraries":
        own = dataclasses.replace(own, uses=(("scipy", "1"),))
    if what == "machine":
        monkeypatch.setattr(indicator_cache, "_machine", lambda: "another processor")
    keep_rows(tmp_path, own).row(series, values)
    assert len(CALLS) == 2


@pytest.mark.slow
def test_a_row_that_became_stale_is_found_before_a_search(tmp_path):
    """The proof asks the function itself, and compares what engines would read."""
    rule = strategy(
        "Reads it on higher bars too.",
        long=(counted(whole("n", 3, 2, 5)) > close) & (higher(60, counted(2)) > 0),
        stop=share(gene("stop", 0.01, 0.001, 0.1)),
    )
    first, second = (keeping_rows(rule, RowCache(tmp_path)) for _ in range(2))
    n_proved = prove_bounds(first, [BARS])
    CALLS.clear()
    assert prove_bounds(second, [BARS]) == n_proved
    # What is kept spares the proof no call.
    assert len(CALLS) > 60 * n_proved
    OUTSIDE[0] = 0.5
    message = r"counted\(3\) said something else in an earlier run on these bars, first at bar 3: "
    with pytest.raises(IndicatorError, match=message + r".*\(\S+own_words.py:\d+\)"):
        prove_bounds(second, [BARS])
    assert not list(tmp_path.rglob("*.row"))
    prove_bounds(second, [BARS])


def test_a_look_ahead_is_found_whatever_is_kept(tmp_path):
    """A row of the whole series that was kept hides nothing."""
    own = keep_rows(tmp_path, whole_mean.own)
    own.row(SERIES, ())
    assert list(tmp_path.rglob("row.row"))
    with pytest.raises(IndicatorError, match="looks ahead"):
        prove_causal(own, (), SERIES)
