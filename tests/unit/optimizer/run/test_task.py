"""A task fits its data before any work begins, and its header holds what decides its results."""

import pytest

from optimizer.config.run_config import RunConfig
from optimizer.run.task import (
    prepare,
)
from strategy import find_strategy
from tests.support.commands import write_market


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A market of 3,000 bars in a file."""
    return write_market(tmp_path_factory.mktemp("market") / "bars.csv")


def test_lengths_scale_with_the_timeframe(market):
    """On bars four times as long every length is a quarter; other genes stay."""
    config = RunConfig(data=market, timeframe="1h")
    layout, published = (
        prepare(config).spec.layout,
        find_strategy("seller_exhaustion").layout,
    )
    assert layout.gene("ema_slow").default == published.gene("ema_slow").default / 4
    assert layout.gene("max_hold").high == published.gene("max_hold").high / 4
    assert layout.gene("reward_r") == published.gene("reward_r")
