"""How memory is shared."""

from engine.cuda.language import CudaLanguageMaker
from engine.memory_plan import WORD_SHARES, count_apart
from tests.support.worlds import make_bars


def test_several_markets_of_words_fit_a_gpu():
    """Their rows have no slots, but a part of the room for work."""
    series, maker = [make_bars(1, 1000)], CudaLanguageMaker((0,))
    of_one = maker.series_bytes(series) + 50 * maker.slot_bytes(series)
    asked = 12 * WORD_SHARES * of_one
    assert count_apart(maker, series, 50, asked) == 12
    assert count_apart(maker, series, 50, asked - WORD_SHARES) == 11
