"""Bars, gaps and windows in memory, beside the rows of the corpus that read them."""

import hashlib

import numpy as np
import pytest

from data.checks import VALUES
from data.errors import BarsError
from tests.support.series import MINUTE_NS, START_NS, make_bars, make_columns

STEP_NS = 15 * MINUTE_NS


def test_content_hash_is_over_names_types_lengths_and_bytes():
    """The hash equals one computed by hand from the columns; symbol and source are no content."""
    bars = make_bars(2)
    digest = hashlib.sha256(b"bars 1 timeframe_ns=900000000000\n")
    for name, kind in [("timestamp", "<i8"), *((n, "<f8") for n in VALUES)]:
        digest.update(f"{name} {kind} 2\n".encode() + getattr(bars, name).tobytes())
    assert digest.hexdigest() == bars.content_hash
    other = make_bars(2, symbol="OTHER", source="csv:x", notes=("n",))
    assert other.content_hash == bars.content_hash
    assert make_bars(2, timeframe_ns=MINUTE_NS).content_hash != bars.content_hash


@pytest.mark.parametrize(
    "changes",
    [{"close": np.ones(3)}, {"close": np.ones((4, 1))}, {"close": np.array(["a"] * 4)},
     {"timestamp": np.arange(4.0)}, {"timestamp": np.arange(4).astype("datetime64[ns]")},
     {"timestamp": make_columns(4)["timestamp"][::-1]}, {"timeframe_ns": 0}, {"timeframe_ns": -1},
     make_columns(0)],
    ids=["length", "shape", "text", "float_time", "datetime", "backward", "zero_bar",
         "negative_bar", "no_bars"],
)  # fmt: skip
def test_wrong_shapes_and_types_are_refused(changes):
    """Columns of another length, shape, type or order are no bars."""
    with pytest.raises(BarsError):
        make_bars(4, **changes)


@pytest.mark.parametrize(
    "symbol", ["", "  ", "A" * 65, "A\nB", "A\x1b[31m", "A\u202eB", "A\x00"], ids=ascii
)
def test_symbols_that_could_do_harm_are_refused(symbol):
    """Empty, long and unprintable symbols are no names; all others stay text, never a path."""
    with pytest.raises(BarsError, match="symbol"):
        make_bars(2, symbol=symbol)
    for odd in ("NA", "../../x", "</script>", "BRK/B", "X:BTCUSD", "🚀"):
        assert make_bars(2, symbol=odd).symbol == odd


@pytest.mark.parametrize(
    ("places", "expected"),
    [((0, 1, 4, 5, 10), (2, 6, 5 * STEP_NS, 4)), ((0, 1, 2, 3, 4), (0, 0, 0, -1)),
     ((0, 1, 350_594, 350_595, 350_596), (1, 350_592, 350_593 * STEP_NS, 2))],
    ids=["two", "none", "ten years"],
)  # fmt: skip
def test_gaps_are_counted_and_the_longest_named(places, expected):
    """Steps of 1, 3, 1 and 5 bars are two gaps with six missing bars; ten years are one."""
    gaps = make_bars(5, timestamp=START_NS + STEP_NS * np.array(places)).gaps()
    assert (gaps.count, gaps.missing_bars, gaps.longest_ns, gaps.longest_at) == expected
