"""The strategy that the law publishes."""

from strategy import STRATEGIES

SPEC = STRATEGIES["seller_exhaustion"]


def test_seller_exhaustion_has_the_published_genes():
    """Names, defaults and bounds are those of the law; so is its warm-up, and that of hours."""
    assert [(g.name, g.default, g.low, g.high) for g in SPEC.layout.genes] == [
        ("ema_fast", 96, 12, 192), ("ema_slow", 672, 96, 1344), ("z_window", 672, 96, 1344),
        ("atr_window", 96, 12, 192), ("vol_z_min", 2.0, 0.5, 4.0), ("tr_z_min", 1.2, 0.3, 3.0),
        ("close_location_min", 0.6, 0.3, 0.9), ("atr_stop_mult", 0.7, 0.1, 3.0),
        ("reward_r", 2.0, 0.5, 5.0), ("max_hold", 96, 4, 384),
    ]  # fmt: skip
    assert SPEC.warm_up(SPEC.layout.decode(SPEC.layout.defaults)) == 671
    hourly = SPEC.for_timeframe(3600)
    assert hourly.warm_up(hourly.layout.decode(hourly.layout.defaults)) == 167
