"""Markets with an edge of known size: shuffled bars that are moved at a candidate's signals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from data.bars import Bars
from data.checks import Floats
from optimizer.errors import ConfigError
from optimizer.evidence.out_of_sample import FEWEST_TRADES
from optimizer.evidence.pick import compute_strengths
from optimizer.run.task import Task
from optimizer.search.breeding import sample_genomes
from optimizer.search.randomness import stream

if TYPE_CHECKING:
    from engine.accounts.ledger import Ledger

MOST_CANDIDATES, GROUP, MOST_MOVES = 100, 10, 12

CLOSE = 0.1
"""Standard errors by which a mean may miss its aim; a candidate that misses more is left."""

MOST_CHANGED = 0.25
"""Share by which trades may become more or fewer, so that it stays the candidate that it was."""


class PlantedEdge(NamedTuple):
    """Trades of the candidate with the moved signals."""

    trades: int
    strength: float  # without chance


NO_EDGE = PlantedEdge(0, 0.0)


@dataclass(frozen=True)
class PlantedTask(Task):
    """A task on bars with an edge."""

    planted: PlantedEdge = NO_EDGE


def plant_edge(task: Task, copies: Sequence[Task], edge: float, number: int) -> PlantedTask:
    """The task on its bars with an edge at the signals of a random candidate.

    Of each ten draws the strongest on the last copy comes first: a candidate ruined by costs would
    lend its signals to neighbours that earn far more on the same moves.

    Args:
        task: On shuffled bars.
        copies: The same on others, two at least. All but the last say what the candidate earns
            without an edge; what it earns more on the bars is chance, and stays.
        edge: Mean R a trade without chance, costs included.
        number: Of the market, whose candidates are drawn from it.

    Raises:
        ConfigError: When no candidate trades often enough, or none can have the edge.
    """
    layout = task.spec.layout
    *others, chooses = copies
    draw = stream(task.config.seed, number, "planted")
    genomes, _ = layout.repair(sample_genomes(draw, layout, MOST_CANDIDATES))
    _, account = chooses.engine("cpu").evaluate_account(genomes)
    strengths = np.nan_to_num(compute_strengths(account), nan=-np.inf)
    tens = np.arange(MOST_CANDIDATES).reshape(-1, GROUP)
    falling = np.argsort(-strengths[tens], axis=1, kind="stable") + tens[:, :1]
    for genome in genomes[falling.T.ravel()]:
        planted = _plant(task, others, genome, edge)
        if planted is not None:
            return planted
    raise ConfigError(
        f"of {MOST_CANDIDATES} random candidates none has {_count_least(task)} trades on bars like "
        f"these with a mean of {edge:g} R: take more bars, or wider bounds (--bound)"
    )


def _plant(task: Task, copies: Sequence[Task], genome: Floats, edge: float) -> PlantedTask | None:
    """The task on bars on which an individual has an edge; None where there are none."""
    ledgers = _trade(task, genome)
    r = _list_r(ledgers)
    count = len(r)
    if count < _count_least(task):
        return None
    usual = np.concatenate([_list_r(_trade(copy, genome)) for copy in copies])
    if not len(usual):
        return None
    aim, error = edge + r.mean() - usual.mean(), r.std() / math.sqrt(count)
    pushes, made, size = _list_pushes(task, ledgers), task, 0.0
    for _ in range(MOST_MOVES):
        missing = aim - r.mean()
        if abs(missing) <= CLOSE * error and abs(len(r) - count) <= MOST_CHANGED * count:
            values = {field.name: getattr(made, field.name) for field in fields(Task)}
            strength = edge * math.sqrt(len(r)) / math.hypot(edge, r.std())
            return PlantedTask(**values, planted=PlantedEdge(len(r), strength))
        # A trade earns about as much more as its bars are moved.
        size += missing
        bars = zip(task.markets.series, pushes, strict=True)
        series = tuple(_move(series, size * push) for series, push in bars)
        made = replace(task, markets=replace(task.markets, series=series))
        r = _list_r(_trade(made, genome))
        if not len(r):
            return None
    return None


def _trade(task: Task, genome: Floats) -> "tuple[Ledger, ...]":
    return task.build_reference(task.markets.windows).trades(genome)


def _list_r(ledgers: "Sequence[Ledger]") -> Floats:
    return np.concatenate([ledger.r for ledger in ledgers])


def _count_least(task: Task) -> int:
    return max(task.config.min_trades, FEWEST_TRADES)


def _list_pushes(task: Task, ledgers: "Sequence[Ledger]") -> list[Floats]:
    """Log returns [S] of [T] that move each trade by its risk, over as many bars as trades last.

    Those of all bars searched add up to nothing, so that only signals tell.
    """
    markets = task.markets
    pushes = [np.zeros(len(bars)) for bars in markets.series]
    length = max(int(median(np.concatenate([ledger.held for ledger in ledgers]))), 1)
    for window, ledger in zip(markets.windows, ledgers, strict=True):
        risk = np.abs(ledger.entry - ledger.stop) / ledger.entry
        for begin, side, size in zip(ledger.entry_bar, ledger.side, risk, strict=True):
            pushes[window.series][begin : min(begin + length, window.end)] += side * size / length
    for number, push in enumerate(pushes):
        own = [window for window in markets.windows if window.series == number]
        span = slice(min(w.start for w in own), max(w.end for w in own))
        push[span] -= push[span].mean()
    return pushes


def _move(bars: Bars, push: Floats) -> Bars:
    """Bars with log returns moved by [T], each evenly from its open on; ranges are kept.

    Finer bars are moved evenly within theirs, which they still make up.
    """
    after = np.cumsum(push)
    prices = np.array([bars.open, bars.high, bars.low, bars.close])
    prices, finer = _move_prices(prices, after - push, after), bars.finer
    if finer is not None:
        first, end = bars.finer_spans
        counts = end - first
        bar = np.repeat(np.arange(len(bars)), counts)
        starts = counts.cumsum() - counts
        place = np.arange(len(bar)) - starts[bar]
        taken, share = first[bar] + place, push[bar] / counts[bar]
        before = (after - push)[bar] + place * share
        moved = _move_prices(finer.prices[:, taken], before, before + share)
        finer = replace(finer, timestamp=finer.timestamp[taken], prices=moved)
        whole, starts = counts > 0, starts[counts > 0]
        prices[1, whole] = np.maximum.reduceat(moved[1], starts)
        prices[2, whole] = np.minimum.reduceat(moved[2], starts)
        prices[3, whole] = moved[3, starts + counts[whole] - 1]
    opened, high, low, close = prices
    return replace(bars, open=opened, high=high, low=low, close=close, finer=finer)


def _move_prices(prices: Floats, before: Floats, after: Floats) -> Floats:
    """Prices [4, K] moved by log returns that grow from their opens to their closes."""
    opened, close = prices[0] * np.exp(before), prices[3] * np.exp(after)
    middle = np.exp((before + after) / 2)
    high = np.maximum(np.maximum(opened, close), prices[1] * middle)
    low = np.minimum(np.minimum(opened, close), prices[2] * middle)
    return np.array([opened, high, low, close])
