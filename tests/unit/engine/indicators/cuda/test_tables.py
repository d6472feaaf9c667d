"""Tables of rows name each row once, in groups that a kernel can take together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("triton")

from engine.backend import RowForm, RowRequest
from engine.indicators.cuda import tables

SOURCES = {"close": 0, "volume": 1, "true_range": 2}


@st.composite
def requests(draw, indicators):
    """Requests of several forms, each row in a slot of its own."""
    names = st.tuples(st.sampled_from(indicators), st.sampled_from(sorted(SOURCES)))
    forms = draw(st.lists(names, unique=True, max_size=5))
    row_requests, slot = [], 0
    for name in forms:
        lengths = draw(st.lists(st.integers(2, 3000), min_size=1, max_size=80))
        table = np.array(lengths, np.float64)[:, None]
        row_requests.append(RowRequest(RowForm(*name), table, np.arange(slot, slot + len(lengths))))
        slot += len(lengths)
    return row_requests


def list_rows(asked):
    """Length and source of each row, by slot."""
    return {
        slot: (length, SOURCES[form.source], form.indicator)
        for form, lengths, slots in asked
        for length, slot in zip(lengths[:, 0].tolist(), slots.tolist(), strict=True)
    }


@given(asked=requests(["ema"]), longest=st.integers(1, 2**28))
def test_averages_are_laid_out_once_each(asked, longest):
    """A group's rows share source and segments, and a segment is right for each of them."""
    shortest = tables.SHORTEST_SEGMENT
    table = tables.lay_out_averages(asked, SOURCES, longest, shortest)
    assert table.shape[1] % tables.AVERAGES == 0
    by_slot = {slot: row for *row, slot in table[[0, 2, 1]].T.tolist() if slot != tables.NO_SLOT}
    assert by_slot == {
        slot: [length, source] for slot, (length, source, _) in list_rows(asked).items()
    }
    groups = table[2:].reshape(3, -1, tables.AVERAGES)
    assert (groups == groups[:, :, :1]).all()
    span, _, _, segment, early = table
    assert (segment % 64 == 0).all()
    assert (early % 64 == 0).all()
    assert (-(-longest // segment) <= tables.MOST_SEGMENTS).all()
    is_cut = segment < longest
    assert (segment >= np.maximum(span, shortest))[is_cut].all()
    assert (early >= tables.EARLY * span)[is_cut].all()
    assert (early <= tables.MOST_EARLY * segment).all()


@given(asked=requests(["sma", "zscore"]), together=st.integers(1, 100))
def test_rolling_rows_are_laid_out_once_each(asked, together):
    """No launch takes too many; each row is flagged as a score or not."""
    laid_out = tables.lay_out_rolling(asked, SOURCES, 35_840, together)
    assert all(0 < table.shape[1] <= together for table in laid_out)
    by_slot = {}
    for table in laid_out:
        for window, slot, source, is_score, shares in table.T.tolist():
            by_slot[slot] = (window, source, "zscore" if is_score else "sma")
            assert 1 <= shares <= tables.MOST_SHARES
    assert by_slot == list_rows(asked)


@given(asked=requests(["ema", "sma", "zscore"]))
def test_compared_rows_are_laid_out_once_each(asked):
    """Rows of one coder come together; what nothing compares is left out."""
    coders = {RowForm("ema", "close"): 1, RowForm("zscore", "volume"): 0}
    slots, numbers = tables.lay_out_coded(asked, coders)
    groups = numbers.reshape(-1, tables.CODED_ROWS)
    assert (groups == groups[:, :1]).all()
    is_row = slots != tables.NO_SLOT
    actual = dict(zip(slots[is_row].tolist(), numbers[is_row].tolist(), strict=True))
    expected = {
        slot: coders[form] for form, _, slots in asked if form in coders for slot in slots.tolist()
    }
    assert (actual, int(is_row.sum())) == (expected, len(expected))
