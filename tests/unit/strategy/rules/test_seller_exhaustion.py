"""The strategy that the law publishes."""

import numpy as np
import pytest

from strategy import STRATEGIES, StrategyError, find_strategy
from strategy.errors import GeneError

SPEC = STRATEGIES["seller_exhaustion"]


def test_seller_exhaustion_has_the_published_genes():
    """Names, defaults and bounds are those of the law."""
    assert [(g.name, g.default, g.low, g.high) for g in SPEC.layout.genes] == [
        ("ema_fast", 96, 12, 192),
        ("ema_slow", 672, 96, 1344),
        ("z_window", 672, 96, 1344),
        ("atr_window", 96, 12, 192),
        ("vol_z_min", 2.0, 0.5, 4.0),
        ("tr_z_min", 1.2, 0.3, 3.0),
        ("close_location_min", 0.6, 0.3, 0.9),
        ("atr_stop_mult", 0.7, 0.1, 3.0),
        ("reward_r", 2.0, 0.5, 5.0),
        ("max_hold", 96, 4, 384),
    ]


def test_warm_up_is_longest_length_minus_one():
    """The default genes are known from bar 671 on."""
    assert SPEC.warm_up(SPEC.layout.decode(SPEC.layout.defaults)) == 671


def test_hourly_bars_need_a_quarter_of_the_lengths():
    """Lengths cover the same time on every timeframe."""
    hourly = SPEC.for_timeframe(3600).layout
    assert (hourly.gene("ema_slow").default, hourly.gene("ema_slow").high) == (168, 336)
    assert hourly.gene("reward_r") == SPEC.layout.gene("reward_r")


def test_unknown_strategy_names_the_nearest():
    """A typing error is met with the name that was meant."""
    with pytest.raises(StrategyError, match="did you mean 'mean_reversion'"):
        find_strategy("mean_reversal")


def test_check_genomes_names_first_illegal_individual():
    """The error names the individual and the gene."""
    genomes = np.tile(SPEC.layout.defaults, (3, 1))
    genomes[2, SPEC.layout.index("reward_r")] = -1.0
    with pytest.raises(GeneError, match="individual 2: gene 'reward_r'"):
        SPEC.check_genomes(genomes)


def test_check_genomes_refuses_length_too_short_for_its_indicator():
    """A z-score over one bar is refused although one bar is a legal length elsewhere."""
    genomes = np.tile(SPEC.layout.defaults, (2, 1))
    genomes[1, SPEC.layout.index("z_window")] = 1
    with pytest.raises(GeneError, match=r"individual 1: gene 'z_window' is 1, .*at least 2"):
        SPEC.check_genomes(genomes)
