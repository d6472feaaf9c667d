"""What plain Python replays of a front: few bars, first and last, and never nothing."""

import numpy as np
import pytest

from data.bars import Window
from engine.replay import sample
from engine.replay.sample import compare_sample
from strategy.rows import as_it_reads
from tests.support.references import compiled_reference
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


def test_long_warm_ups_leave_fewer_individuals(monkeypatch):
    """Each sees twice its warm-up, the first one however long that takes."""
    genomes = np.repeat(SPEC.layout.defaults[None], 9, axis=0)
    warm_up = SPEC.warm_up(SPEC.layout.decode(genomes[0]))
    monkeypatch.setattr(sample, "BARS", 5 * warm_up)
    sizes = [len(bars) for _, _, bars in choose_pieces(genomes, WINDOWS[:1])]
    assert sizes == [2 * warm_up, 2 * warm_up]
    monkeypatch.setattr(sample, "BARS", warm_up)
    sizes = [len(bars) for _, _, bars in choose_pieces(genomes, WINDOWS[:1])]
    assert sizes == [2 * warm_up]


@pytest.mark.slow
def test_forms_that_agree_have_no_problems():
    """On as many bars as were chosen."""
    genomes = random_genomes(SPEC, 20, seed=1)
    pieces = sample.chosen_pieces(SPEC, WINDOWS, genomes)
    reference = compiled_reference(SPEC, SERIES, WINDOWS)
    assert compare_sample(reference, genomes, pieces, as_it_reads) == {}
    assert len(pieces) == 4
    assert sum(piece.bars for piece in pieces) == sum(
        len(bars) for _, _, bars in choose_pieces(genomes)
    )
