"""What plain Python replays of a front: few bars, first and last, and never nothing."""

import numpy as np
import pytest

from data.bars import Window
from engine.replay import sample
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
SERIES = [make_bars(5, 9000, jump=0.1), make_bars(6, 700)]
WINDOWS = [Window.whole(SERIES[0]), Window(0, 4000, 9000), Window(1, 90, 350)]


def choose_pieces(genomes, windows=WINDOWS):
    """Individuals, windows and bars of a sample."""
    pieces = sample.chosen_pieces(SPEC, windows, genomes)
    return [(i, w, sample._cut_bars(SERIES, windows[w], count)) for i, w, count in pieces]


@pytest.mark.parametrize("individuals", [0, 1, 4, 300])
def test_the_first_and_the_last_are_among_them(individuals):
    """As many as there are, four at most, none twice."""
    picked = [i for i, _, _ in choose_pieces(random_genomes(SPEC, individuals, seed=1))]
    assert len(picked) == min(individuals, sample.MEMBERS)
    assert sorted(set(picked)) == picked
    assert picked[:1] + picked[-1:] == ([0, individuals - 1] if individuals else [])


def test_they_see_different_windows_from_their_beginning():
    """The bars of a part are those of the series, and no more than asked for."""
    pieces = choose_pieces(random_genomes(SPEC, 300, seed=1))
    assert [w for _, w, _ in pieces] == [0, 0, 1, 2]
    assert sum(len(bars) for _, _, bars in pieces) <= sample.BARS
    for _, w, bars in pieces:
        window = WINDOWS[w]
        whole = SERIES[window.series].close[window.start : window.end]
        np.testing.assert_array_equal(bars.close, whole[: len(bars)])
