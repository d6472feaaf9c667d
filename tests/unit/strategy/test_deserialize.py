"""What version 0.2.0 recorded of strategies of rows, comparisons and a bracket by name."""

import pytest

from strategy import STRATEGIES
from strategy.deserialize import renew_description
from strategy.errors import StrategyError
from tests.support.former import describe_former


@pytest.mark.parametrize("seconds", [900, 3600])
def test_what_was_recorded_is_the_published_strategy(seconds):
    """To its digest, on the bars that it was scaled to and with the bounds that it was given."""
    spec = STRATEGIES["seller_exhaustion"].for_timeframe(seconds)
    spec = spec.with_bounds({"reward_r": (1.0, 3.0)})
    assert renew_description(describe_former(spec)) == spec.described


OWN = {"atr": {"indicator": "mine", "definition": "0" * 64}}


@pytest.mark.parametrize(
    "change",
    [
        {"rows": OWN}, {"conditions": ["fast slow"]}, {"conditions": ["fast < nothing"]},
        {"bracket": None}, {"genes": 3},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_read_is_refused(change):
    """In words: a record may come from anywhere."""
    with pytest.raises(StrategyError, match="'mine'" if change.get("rows") else "no strategy"):
        renew_description(describe_former(STRATEGIES["seller_exhaustion"]) | change)
