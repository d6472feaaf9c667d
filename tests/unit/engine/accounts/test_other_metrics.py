"""The page of other libraries' metrics: what is called equal agrees to nine digits."""

import math
import re

import numpy as np

from engine.accounts.account import Account
from engine.accounts.metrics import compute_metrics
from optimizer.config.run_config import RunConfig
from optimizer.run.task import prepare
from tests.support.paths import ROOT


def measure_sample():
    """Metrics of the default strategy on the sample, its daily returns, and days a year."""
    task = prepare(RunConfig())
    windows, genome = task.markets.windows, task.spec.layout.defaults
    engine = task.full_engine(device="cpu")
    (ledger,) = engine.trades(genome)
    own = Account(task.markets.series, windows, task.markets.symbols, task.costs)
    values = compute_metrics(engine.evaluate(genome[None]), task.markets.spans(windows))
    ends = np.concatenate([[1.0], own.day_ends(own.fold([ledger]))])
    measured = values.name_metrics(0) | own.measure([ledger])[0]
    return measured, ends[1:] / ends[:-1] - 1.0, len(own.days) / own.years


def write_formulas(daily, periods):
    """What quantstats and empyrical compute of the ends of days, as their documentation has it.

    Written here anew, since neither is installed: the page was printed with both of them.
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


def test_the_page_has_the_numbers_of_their_formulas():
    """Each row of quantstats and empyrical to nine digits; ours are those of the engine."""
    page = (ROOT / "docs" / "howto" / "metrics.md").read_text(encoding="utf-8")
    values, *daily = measure_sample()
    theirs = write_formulas(*daily)
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (\S+) \| (\S+) \| (.+) \|$", page, re.MULTILINE)
    seen = set()
    for own, other, value, number, why in rows:
        assert f"{values[own]:.9g}" == value, own
        assert (value == number) == (why == "equal"), own
        if other in theirs:
            assert f"{theirs[other]:.9g}" == number, other
            seen.add(other)
    assert seen == set(theirs)
    assert len(rows) == 29
