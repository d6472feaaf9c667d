"""A few individuals replayed by both forms of the reference: in plain Python, and compiled.

Plain Python takes about ten microseconds a bar of an individual. It therefore replays some members
on some bars, and everything that both forms say of them is compared: each bar of each row too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from data.bars import Bars, Window
from engine.language_reference import AnyReference, reference_of
from engine.reference import Form
from engine.replay.parity import compare_forms
from strategy.genes import Floats

MEMBERS = 4
"""Individuals of a sample at most: the first, the last and some between."""

BARS = 12_000
"""Bars that they are replayed on at most, together; the first of them has at least its warm-up."""

WARM_UPS = 2
"""Warm-ups that an individual is replayed on where there are so many bars."""


@dataclass(frozen=True)
class Sample:
    """What plain Python was compared with.

    Args:
        individuals: How many were replayed.
        bars: Bars of all of them together.
        problems: By individual and window, how the forms differ.
    """

    individuals: int
    bars: int
    problems: dict[tuple[int, int], str]


def compare_sample(reference: AnyReference, genomes: Floats, plain: Form) -> Sample:
    """Replay some of the individuals [N, G] by the compiled reference and by its plain form."""
    individuals, n_bars, problems = 0, 0, {}
    for i, w, bars in _chosen(reference, genomes):
        windows = [Window.whole(bars)]
        first, second = (
            reference_of(reference.spec, [bars], windows, reference.costs, form=form)
            for form in (plain, reference.form)
        )
        problem = compare_forms(first, second, genomes[i])
        if problem:
            problems[i, w] = f"the reference in plain Python and compiled: {problem}"
        individuals, n_bars = individuals + 1, n_bars + len(bars)
    return Sample(individuals, n_bars, problems)


def _chosen(reference: AnyReference, genomes: Floats) -> Iterator[tuple[int, int, Bars]]:
    """Individuals, each with a window of its own and as many of its first bars as time allows."""
    spec, windows = reference.spec, reference.windows
    picks = np.unique(np.linspace(0, max(len(genomes) - 1, 0), MEMBERS).astype(int))
    left = BARS
    for k, i in enumerate(picks[: len(genomes)].tolist()):
        w = k * len(windows) // len(picks)
        window = windows[w]
        wanted = max(BARS // MEMBERS, WARM_UPS * spec.warm_up(spec.layout.decode(genomes[i])))
        count = min(wanted, len(window))
        if k and count > left:
            continue
        left -= count
        yield i, w, _part(reference.series[window.series], window.start, count)


def _part(bars: Bars, start: int, count: int) -> Bars:
    return bars.cut(start, start + count)
