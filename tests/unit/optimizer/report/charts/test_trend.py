"""The chart of an adaptive trend: what it draws is the row and what the row is made of."""

import numpy as np

from data import load_bars
from engine.trends import trends
from optimizer.report.charts.trend import compute_layers, trend
from tests.support.trend import A, B, S

BARS = load_bars("sample").until(3000)


def test_layers_make_the_row():
    """Row and votes are those of the engine; equities are known from the cutout on."""
    for parameters, is_script in ((A, False), (B, False), (S, True)):
        layers = compute_layers(BARS.close, parameters, is_script=is_script)
        (trend,) = trends([BARS.close], parameters, is_script=is_script)
        assert layers.row.tobytes() == trend.row.tobytes()
        assert (layers.votes == trend.votes).all()
        assert np.isnan(layers.equities[:, : parameters[9]]).all()
        assert (layers.equities[:, parameters[9] :] >= 0.25).all()
        assert layers.averages.shape == (6, 9, 3000)


def test_the_chart_shows_the_newest_bars():
    """As many as asked for, each class in its colour, all families, and words for the blind."""
    layers = compute_layers(BARS.close, A)
    chart = trend("SIMULATED", BARS.timestamp, BARS.close, layers, last=200)
    figure = chart.figure()
    by_name = {trace.name: trace for trace in figure.data}
    assert len(by_name["close"].x) == 200
    shown = layers.row[-200:]
    assert (~np.isnan(by_name["long"].y)).sum() == (shown > 0.1).sum()
    assert (~np.isnan(by_name["short"].y)).sum() == (shown < -0.1).sum()
    assert sum(str(name).startswith("equity of ") for name in by_name) == 6
    assert chart.alt.startswith("SIMULATED: the trend is ")
    few = BARS.until(50)
    short = trend("few", few.timestamp, few.close, compute_layers(few.close, A))
    assert len(short.data[0]["x"]) == 50
