"""A few individuals replayed by both forms of the reference: in plain Python, and compiled.

Plain Python takes about ten microseconds a bar of an individual. It therefore replays some members
on some bars, and everything that both forms say of them is compared: each bar of each row too.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from data.bars import Bars, Window
from engine.reference import Reference
from engine.replay.parity import compare_forms
from strategy.genes import Floats
from strategy.model import Strategy
from strategy.rows import LoopRunner

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
