"""Other libraries as oracles: what must agree does, to nine digits; what differs has a reason."""

import math
import re
import warnings

import numpy as np
import pytest

from tests.bench.other_metrics import LIBRARIES, measure_sample
from tests.support.paths import ROOT


@pytest.mark.parametrize("name", LIBRARIES)
def test_numbers_of_other_libraries(name):
    """Rows without a reason are equal; a row with one differs, else the reason explains nothing."""
    # They warn of pandas' future and of fonts while they are imported.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(name, reason="the library is not installed")
        rows = list(LIBRARIES[name](measure_sample()))
    assert len(rows) > 5
    for row in rows:
        assert row.is_equal != bool(row.why), row


@pytest.fixture(scope="module")
def sample():
    """The numbers of the page, and the series that they are of."""
    return measure_sample()


def write_formulas(daily, periods):
    """What quantstats and empyrical compute of the ends of days, as their documentation has it.

    Written here anew, since neither is installed by default: the values of the page were printed
    with both of them, and these formulas hold the page to its numbers without them.
    """
    moved, losses = daily[daily != 0], daily[daily < 0]
    equity = np.cumprod(1.0 + daily)
    fall = 1.0 - equity / np.maximum(np.maximum.accumulate(equity), 1.0)
    years = len(daily) / periods
    growth = equity[-1] ** (1.0 / years) - 1.0
    streak = max(len(run) for run in "".join("x" if d < 0 else " " for d in daily).split())
    sharpe = daily.mean() / daily.std(ddof=1) * math.sqrt(periods)
    sortino = daily.mean() / math.sqrt((losses**2).sum() / len(daily)) * math.sqrt(periods)
    return {
        **dict.fromkeys(("comp", "cum_returns_final"), equity[-1] - 1.0),
        "cagr": growth,
        **dict.fromkeys(("sharpe", "sharpe_ratio"), sharpe),
        **dict.fromkeys(("sortino", "sortino_ratio"), sortino),
        "max_drawdown": fall.max(),
        **dict.fromkeys(("calmar", "calmar_ratio"), growth / fall.max()),
        "ulcer_index": math.sqrt((fall**2).sum() / (len(daily) - 1)),
        "consecutive_losses": streak,
        "win_rate": (moved > 0).mean(),
        "profit_factor": daily[daily > 0].sum() / -losses.sum(),
    }


def test_the_page_has_the_numbers_of_their_formulas(sample):
    """Each row of quantstats and empyrical to nine digits; ours are those of the engine."""
    page = (ROOT / "docs" / "howto" / "metrics.md").read_text(encoding="utf-8")
    theirs = write_formulas(sample.daily.to_numpy(), sample.periods)
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (\S+) \| (\S+) \| (.+) \|$", page, re.MULTILINE)
    seen = set()
    for own, other, value, number, why in rows:
        assert f"{sample.values[own]:.9g}" == value, own
        assert (value == number) == (why == "equal"), own
        if other in theirs:
            assert f"{theirs[other]:.9g}" == number, other
            seen.add(other)
    assert seen == set(theirs)
    assert len(rows) == 29
