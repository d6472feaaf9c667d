"""Series as a device has them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from engine.cuda.backend import CudaBackend  # noqa: E402
from engine.cuda.language import CudaLanguageMaker  # noqa: E402
from engine.indicators.coders import FixedCoder, WanderingCoder, coder_maps  # noqa: E402
from engine.indicators.cuda.market import (  # noqa: E402
    HIGHEST_CODE,
    DeviceMarket,
    upload_prices,
)
from engine.indicators.sources import compute_sources  # noqa: E402
from engine.memory_plan import WORD_SHARES, count_apart  # noqa: E402
from tests.support.finer import make_coarse  # noqa: E402
from tests.support.worlds import make_bars  # noqa: E402

HOST = torch.device("cpu")


def test_series_lie_one_after_the_other():
    """Sources and maps of codes, with nothing, or ones, where there is no bar."""
    series = [make_bars(1, 70), make_bars(2, 1100), make_bars(3, 64)]
    coders = dict.fromkeys((FixedCoder(-1.0, 8.0), WanderingCoder("close", 50)))
    market = DeviceMarket(series, coders.keys(), HOST)
    assert market.starts.tolist() == [0, 128, 1280]
    columns = np.zeros((len(market.source_numbers), 2048))
    maps = np.ones((2, 2, 2048))
    for start, bars in zip(market.starts.tolist(), series, strict=True):
        sources = compute_sources(bars)
        for name, number in market.source_numbers.items():
            columns[number, start : start + len(bars)] = sources[name]
        for coder, number in market.coder_numbers.items():
            maps[number, :, start : start + len(bars)] = coder_maps(coder, sources, HIGHEST_CODE)
    found = market.columns.numpy()
    np.testing.assert_array_equal(found[: columns.size].reshape(columns.shape), columns)
    assert not found[columns.size :].any()
    np.testing.assert_array_equal(market.maps.numpy(), maps)
    # Upper halves of the lows and highs of each bar, four and four.
    halves = market.pyramid[0].numpy().reshape(-1, 2, 4)
    for place, name, none in ((0, "low", np.inf), (1, "high", -np.inf)):
        expected = np.full(2048, none)
        for start, bars in zip(market.starts.tolist(), series, strict=True):
            expected[start : start + len(bars)] = getattr(bars, name)
        np.testing.assert_array_equal(halves[:, place].reshape(-1), expected.view(np.int64) >> 32)


def test_finer_bars_are_laid_out_and_counted():
    """Behind those of other series; what they take is in the plan of memory."""
    hours, plain = make_coarse(make_bars(1, 400), 1), make_bars(2, 70)
    series = [hours, plain, make_coarse(make_bars(3, 90))]
    market = DeviceMarket(series, set(), HOST)
    first, count = market.finer_of.numpy().T
    for start, bars in zip(market.starts, series, strict=True):
        for j in range(len(bars)):
            if bars.finer is None:
                assert count[start + j] == 0
                continue
            begin, end = bars.finer_spans[:, j]
            assert count[start + j] == (end - begin if end > begin else -1)
            if end > begin:
                some = slice(first[start + j], first[start + j] + count[start + j])
                expected = bars.finer.prices[:, begin:end].T
                np.testing.assert_array_equal(expected, market.finer[some].numpy())
    whole = [bars.cut(0, len(bars), finer=None) for bars in series]
    taken = market.finer.nbytes + market.finer_of.nbytes
    assert CudaBackend.series_bytes(series) - CudaBackend.series_bytes(whole) == taken
    prices, maker = upload_prices(hours, HOST), CudaLanguageMaker((0,))
    taken = prices.finer.nbytes + prices.finer_of.nbytes
    assert maker.series_bytes([hours]) - maker.series_bytes(whole[:1]) == taken


def test_several_markets_of_words_fit_a_gpu():
    """Their rows have no slots, but a part of the room for work."""
    series, maker = [make_bars(1, 1000)], CudaLanguageMaker((0,))
    of_one = maker.series_bytes(series) + 50 * maker.slot_bytes(series)
    asked = 12 * WORD_SHARES * of_one
    assert count_apart(maker, series, 50, asked) == 12
    assert count_apart(maker, series, 50, asked - WORD_SHARES) == 11
