"""Parity: equal in every bit, or the first difference in words; and a sample for plain Python.

Plain Python takes about ten microseconds a bar of an individual. It therefore replays some members
on some bars, and everything that both forms of the reference say of them is compared: each bar of
each row too.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.accounts.ledger import ACCUMULATORS, REASONS, Ledger, Trade
from engine.reference import Reference
from strategy.genes import Floats
from strategy.model import Strategy
from strategy.rows import LoopRunner


def compare_ledgers(expected: Ledger, actual: Ledger) -> str:
    """The trade in which two ledgers part, in full; empty when they are equal in every bit."""
    names, counts = expected.columns(), ("rejected", "orders", "expired", "coarse")
    if all(getattr(expected, name) == getattr(actual, name) for name in counts) and all(
        getattr(expected, name).tobytes() == getattr(actual, name).tobytes() for name in names
    ):
        return ""
    for k in range(min(len(expected), len(actual))):
        for name in Trade._fields:
            left, right = getattr(expected, name)[k : k + 1], getattr(actual, name)[k : k + 1]
            if left.tobytes() != right.tobytes():
                return (
                    f"trade {k}: {name} differs\n  reference: {_describe(expected.trade(k))}\n"
                    f"  engine:    {_describe(actual.trade(k))}"
                )
    if len(expected) != len(actual):
        more = expected if len(expected) > len(actual) else actual
        extra = _describe(more.trade(min(len(expected), len(actual))))
        return (
            f"the reference has {len(expected)} trades, the engine {len(actual)}\n"
            f"  first that only one has: {extra}"
        )
    for name in counts:
        left, right = getattr(expected, name), getattr(actual, name)
        if left != right:
            return f"{name} differ: the reference has {left}, the engine {right}"
    for name in names:
        if getattr(expected, name).tobytes() != getattr(actual, name).tobytes():
            return f"{name} of targets and sizes differ"
    return ""


def compare_accumulators(expected: Sequence[float] | Floats, actual: Floats) -> str:
    """The first difference between two sets of accumulators [A]; empty when equal in every bit."""
    if np.asarray(expected, np.float64).tobytes() == np.asarray(actual, np.float64).tobytes():
        return ""
    for name, left, right in zip(ACCUMULATORS, expected, actual, strict=True):
        if np.float64(left).tobytes() != np.float64(right).tobytes():
            return f"accumulator {name} differs: reference {float(left)!r}, engine {float(right)!r}"
    return ""


def compare_forms(expected: Reference, actual: Reference, genome: Floats) -> str:
    """The first difference between two forms of the reference, for one individual [G].

    `expected` runs in plain Python, `actual` compiled, on the same strategy, series, windows and
    costs. Empty when rows, ledgers and accumulators are equal in every bit.
    """
    genes = expected.spec.layout.decode(genome)
    for series in range(len(expected.series)):
        left_rows, right_rows = (form.rows(genes, series) for form in (expected, actual))
        for name, left in left_rows.items():
            right = right_rows[name]
            (bars,) = np.nonzero(_differ(left, right))
            if len(bars):
                t = int(bars[0])
                return f"row {name} differs at bar {t}: {left[t]!r} and {right[t]!r}"
    for first, second in zip(expected.trades(genome), actual.trades(genome), strict=True):
        problem = compare_ledgers(first, second) or compare_accumulators(
            expected.fold(first, genome), actual.fold(second, genome)
        )
        if problem:
            return problem
    return ""


def _differ(left: Floats, right: Floats) -> npt.NDArray[np.bool_]:
    """Where two rows [T] differ in a bit; one unknown is as good as another."""
    differs: npt.NDArray[np.bool_] = left.view(np.int64) != right.view(np.int64)
    return differs & ~(np.isnan(left) & np.isnan(right))


def _describe(trade: Trade) -> str:
    values = trade._asdict() | {"reason": REASONS[trade.reason]}
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


MEMBERS = 4
"""Individuals of a sample at most: the first, the last and some between."""

BARS = 12_000
"""Most bars of their replays, together; the first of them has at least its warm-up."""

WARM_UPS = 2
"""Warm-ups that an individual is replayed on where there are so many bars."""


class Piece(NamedTuple):
    """An individual and a window, with its replay on some first bars of it."""

    individual: int
    window: int
    bars: int


def compare_sample(
    reference: Reference, genomes: Floats, pieces: Sequence[Piece], plain: LoopRunner
) -> dict[tuple[int, int], str]:
    """How the compiled reference and its plain form differ on pieces of individuals [N, G].

    By individual and window; empty where they say the same.
    """
    problems = {}
    for i, w, count in pieces:
        bars = _cut_bars(reference.series, reference.windows[w], count)
        windows = [Window.whole(bars)]
        first, second = (
            Reference(reference.spec, [bars], windows, reference.costs, form=form)
            for form in (plain, reference.form)
        )
        problem = compare_forms(first, second, genomes[i])
        if problem:
            problems[i, w] = f"the reference in plain Python and compiled: {problem}"
    return problems


def chosen_pieces(spec: Strategy, windows: Sequence[Window], genomes: Floats) -> tuple[Piece, ...]:
    """Individuals, each with a window of its own and as many of its first bars as time allows."""
    picks = np.unique(np.linspace(0, max(len(genomes) - 1, 0), MEMBERS).astype(int))
    left, pieces = BARS, []
    for k, i in enumerate(picks[: len(genomes)].tolist()):
        w = k * len(windows) // len(picks)
        wanted = max(BARS // MEMBERS, WARM_UPS * spec.warm_up(spec.layout.decode(genomes[i])))
        count = min(wanted, len(windows[w]))
        if k and count > left:
            continue
        left -= count
        pieces.append(Piece(i, w, count))
    return tuple(pieces)


def _cut_bars(series: Sequence[Bars], window: Window, count: int) -> Bars:
    """The first so many bars of a window."""
    return series[window.series].cut(window.start, window.start + count)
