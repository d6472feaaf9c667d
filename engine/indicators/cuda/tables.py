"""Stage 1: which rows a launch computes and how, as tables for the kernels, a column a row."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from engine.backend import Ints, RowForm, RowRequest
from engine.indicators.cuda.market import ALIGNED_BARS

EARLY = 20
"""Spans that a segment of an EMA begins early. Two averages of the same values come `exp(2)` times
closer in a span, so that 18 or so take the place of all 53 bits; 99.96 % of segments agreed after
20, none after 10."""

SHORTEST_SEGMENT = 2**13
"""Bars of a segment at least. A segment is a chain as long, and of what it begins early."""

MOST_EARLY = 2
"""A segment begins early by no more than so many times its own bars, which bounds the work."""

MOST_SEGMENTS = 1024
"""Of one series."""

AVERAGES = 32
"""EMAs that a warp carries, a lane each."""

CODED_ROWS = 8
"""Rows that a program encodes."""

ROLLING = {"sma": 0, "zscore": 1}
"""Indicators by two-block sums, and whether they are scores."""

BUSY = 2**16
"""Blocks of rolling rows that keep a large device busy, a lane each."""

MOST_SHARES = 8
"""In which the bars of a block are finished."""

NO_SLOT = -1
"""Of what fills up a group of rows."""


def size_segments(spans: Ints, longest: int, shortest: int) -> tuple[Ints, Ints]:
    """How EMAs are cut into segments.

    Args:
        spans: [n] in bars.
        longest: Bars of the longest series.
        shortest: Bars of a segment at least.

    Returns:
        Bars of a segment [n], all of the series where segments would take as long; and bars [n]
        that a segment begins early. Both are whole multiples of `ALIGNED_BARS`, and a segment is
        no shorter than the span, so that an EMA is known from its second segment on.

    >>> size_segments(np.array([12, 1344]), 2_000_000, 8192)
    (array([ 8192, 13440]), array([  256, 26880]))
    >>> size_segments(np.array([12, 1344]), 35_040, 8192)
    (array([ 8192, 35072]), array([256,   0]))
    """
    early = _round_up_bars(EARLY * spans)
    least = np.maximum(np.maximum(early // MOST_EARLY, spans), -(-longest // MOST_SEGMENTS))
    segment = _round_up_bars(np.maximum(least, shortest))
    is_shorter = segment + early < longest
    return np.where(is_shorter, segment, _round_up_bars(longest)), np.where(is_shorter, early, 0)


def lay_out_averages(
    requests: Sequence[RowRequest], sources: Mapping[str, int], longest: int, shortest: int
) -> Ints:
    """Lay EMAs out for `ema_kernel`.

    Args:
        requests: EMAs only.
        sources: Name to number.
        longest: Bars of the longest series.
        shortest: Bars of a segment at least.

    Returns:
        [5, n] span, slot, source, bars of a segment, early bars; in groups of `AVERAGES` rows of
        one source and about one span, which share the last three.
    """
    spans, slots, numbers = _flatten_requests(requests, [sources[r.form.source] for r in requests])
    order = np.argsort(spans, kind="stable")
    rows, is_row = _group_rows(numbers[order], AVERAGES)
    rows = order[rows]
    table = np.empty((5, len(rows)), np.int64)
    table[0] = spans[rows]
    table[1] = np.where(is_row, slots[rows], NO_SLOT)
    table[2] = numbers[rows]
    widest = table[0].reshape(-1, AVERAGES).max(axis=1, initial=1).repeat(AVERAGES)
    table[3:] = size_segments(widest, longest, shortest)
    return table


def lay_out_rolling(
    requests: Sequence[RowRequest], sources: Mapping[str, int], n_bars: int, together: int
) -> list[Ints]:
    """Lay rolling rows out for `rolling_kernel`.

    Args:
        requests: Means and z-scores.
        sources: Name to number.
        n_bars: Bars of each row.
        together: Rows that one launch computes at most.

    Returns:
        For each launch [5, n] window, slot, source, whether it is a score, in how many shares; the
        longest windows first, because windows of about one length have about as many blocks.
    """
    windows, slots, numbers = _flatten_requests(
        requests, [sources[r.form.source] for r in requests]
    )
    scores = np.repeat([ROLLING[r.form.indicator] for r in requests], _counts(requests))
    shares = np.clip(BUSY * windows // max(1, len(windows) * n_bars), 1, MOST_SHARES)
    table = np.stack([windows, slots, numbers, scores.astype(np.int64), shares])
    table = table[:, np.argsort(-windows, kind="stable")]
    return [table[:, begin : begin + together] for begin in range(0, len(windows), together)]


def lay_out_coded(requests: Sequence[RowRequest], coders: Mapping[RowForm, int]) -> Ints:
    """Lay rows out for `code_kernel`: [2, n] slot and coder.

    They come in groups of `CODED_ROWS` rows of one coder; `coders` gives the number of a form's
    coder, where it is compared.
    """
    compared = [request for request in requests if request.form in coders]
    _, slots, numbers = _flatten_requests(compared, [coders[r.form] for r in compared])
    rows, is_row = _group_rows(numbers, CODED_ROWS)
    return np.stack([np.where(is_row, slots[rows], NO_SLOT), numbers[rows]])


def _flatten_requests(
    requests: Sequence[RowRequest], numbers: Sequence[int]
) -> tuple[Ints, Ints, Ints]:
    """First parameter, 0 for none, slot, and the request's number of each row, [n] each."""
    firsts = [r.parameters[:, 0] if r.parameters.shape[1] else 0 * r.slots for r in requests]
    none = np.zeros(0, np.int64)
    return (
        np.concatenate([none, *firsts]).astype(np.int64),
        np.concatenate([none, *(r.slots for r in requests)]),
        np.repeat(np.array(numbers, np.int64), _counts(requests)),
    )


def _counts(requests: Sequence[RowRequest]) -> Ints:
    return np.array([len(request.slots) for request in requests], np.int64)


def _group_rows(keys: Ints, size: int) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Bring rows of one key [n] together, in groups of `size`.

    Returns the place of a row [m], group after group; and whether it comes the first time, because
    rows that come again fill groups up.
    """
    groups = [np.zeros(0, np.int64)]
    for key in np.unique(keys):
        (rows,) = np.nonzero(keys == key)
        groups.append(np.resize(rows, -(-len(rows) // size) * size))
    row_numbers = np.concatenate(groups)
    is_row = np.zeros(len(row_numbers), np.bool_)
    is_row[np.unique(row_numbers, return_index=True)[1]] = True
    return row_numbers, is_row


def _round_up_bars(bars: Ints | int) -> Ints:
    return -(-np.asarray(bars, np.int64) // ALIGNED_BARS) * ALIGNED_BARS
