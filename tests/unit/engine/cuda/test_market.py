"""Series as a device has them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from engine.cuda.backend import CudaBackend  # noqa: E402
from engine.cuda.language import CudaLanguageMaker  # noqa: E402
from engine.indicators.cuda.market import DeviceMarket, upload_prices  # noqa: E402
from tests.support.finer import make_coarse  # noqa: E402
from tests.support.worlds import make_bars  # noqa: E402

HOST = torch.device("cpu")


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
