"""What a page carries comes back exactly, and no name can break out of it."""

from types import SimpleNamespace

import numpy as np
import pytest

from optimizer.report import model
from optimizer.report.page import encode_gzip, load_plotly, pack
from tests.support.pages import unpack_page
from tests.support.worlds import make_bars


def test_arrays_come_back_with_their_bits():
    """Floats keep NaN, whole numbers and truths become 32-bit integers, shapes stay."""
    given = {
        "floats": np.array([1.5, np.nan, -0.0]),
        "short": np.array([1.25], np.float32),
        "whole": np.arange(7),
        "truths": np.array([True, False]),
        "table": np.arange(6.0).reshape(2, 3),
        "empty": np.empty(0),
    }
    content = unpack_page(pack(given))
    assert content["floats"].tobytes() == given["floats"].tobytes()
    assert content["whole"].tolist() == list(range(7))
    assert content["truths"].tolist() == [1, 0]
    assert content["table"].tolist() == given["table"].tolist()
    assert (content["short"][0], len(content["empty"])) == (1.25, 0)


def test_numbers_that_json_lacks_are_null():
    """A page must stay strict JSON."""
    assert unpack_page(pack([float("nan"), float("inf"), np.float64(2.0), None])) == [
        None,
        None,
        2.0,
        None,
    ]


@pytest.mark.parametrize("name", ["</script>", "<!--", "\u2028", "🦊", "a" * 10_000])
def test_a_name_cannot_end_the_element_that_holds_it(name):
    """What stands in the page has no markup in it, and comes back as it was."""
    text = pack({name: name})
    assert not set(text) & set("<>&\"'")
    assert unpack_page(text) == {name: name}


def test_the_same_content_gives_the_same_page():
    """No time of making is in it."""
    assert encode_gzip(b"abc") == encode_gzip(b"abc")
    assert b"plotly.js" in load_plotly()[:200]


def test_bars_around_trades_take_the_memory_of_these():
    """Of long series only stretches are held: what is carried is what masks of all bars say."""
    series = [make_bars(seed, 3000) for seed in range(2)]
    run = SimpleNamespace(series=series)
    members = [
        make_trades(0, [5, 1000, 1060], 9),
        make_trades(1, [2995], 3),
        make_trades(0, [300], 9),
    ]
    by_member = model._collect_bars(run, members)
    masks = np.zeros((2, 3000), np.bool_)
    for series_number, begin, end in ((0, 0, 54), (0, 260, 349), (0, 960, 1109), (1, 2955, 3000)):
        masks[series_number, begin:end] = True
    for number, (mask, bars) in enumerate(zip(masks, series, strict=True)):
        own = by_member[str(number)]
        assert own["number"].tolist() == np.flatnonzero(mask).tolist()
        assert own["close"].tobytes() == bars.close[mask].astype(np.float32).tobytes()


def test_bars_of_members_for_whom_there_is_no_room_are_left_out(monkeypatch):
    """Members are taken whole, the first one in any case as far as there is room."""
    run = SimpleNamespace(series=[make_bars(0, 3000)])
    members = [make_trades(0, [100], 9), make_trades(0, [2000], 9), make_trades(0, [110], 9)]
    for room, expected in ((188, 188), (187, 178), (177, 89), (50, 50)):
        monkeypatch.setattr(model, "MOST_BARS", room)
        assert len(model._collect_bars(run, members)["0"]["number"]) == expected


def make_trades(series, signals, held):
    """Trades of an individual in a series, as far as bars around them ask."""
    signal = np.array(signals)
    last = np.minimum(signal + held - 1, 2999)
    whose = np.full(len(signal), series)
    return SimpleNamespace(series=whose, signal_bar=signal, exit_bar=last)
