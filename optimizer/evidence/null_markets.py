"""Markets without an edge, made of the searched bars: shuffled, or turned about their mean.

On a shuffled market the order of bars carries nothing; a body (high, low and close over the open,
with its volume and aligned columns) and the gap before it move apart, each within its class. On a
mirrored market volatility, volume, extra columns and times stay, and only directions are drawn
anew. Dated columns stay on both. Prices are rebuilt by * and / alone, with monotone rounding: the
bars are legal without any repair. Finer bars move with their bars, and turn with them: as ratios
to the open of their bar they keep their order within it.

Sources: Masters, "Monte-Carlo Evaluation of Trading Systems", 2006, and "Permutation and
Randomization Tests for Trading System Development", 2020, for permuted bars; classes and the
mirrored market are house rules.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from data.bars import Bars, FinerBars, Window
from data.checks import Flags, Floats, Ints
from data.timeframe import UNITS_NS
from engine.accounts.curves import add_up
from engine.runtime.machine import available_cores
from optimizer.search.randomness import Words, draw_words

Keep = Literal["none", "day", "week"]
"""The rhythm that shuffled bodies and gaps keep: none, the minute of the day, or of the week."""

FEWEST_IN_SLOT = 20
"""Below so many bars a slot holds too few to shuffle among."""

LONG_MARKET = 10_000
"""Times of a market, below which a thread takes longer to begin than what it does."""

PERIODS_NS: dict[str, int] = {"none": 1, "day": UNITS_NS["d"], "week": UNITS_NS["w"]}


class _Ratios(NamedTuple):
    """Bars [m] as ratios: the open over the close before, and the others over the open."""

    gap: Floats
    high: Floats
    low: Floats
    close: Floats


@dataclass(frozen=True)
class _Series:
    """One searched series up to the end of its window."""

    bars: Bars  # [T]
    moving: Ints  # [m] numbers of the bars that may move: those of the window, but for bar 0
    number: Ints  # [m] of their times among the times of all series
    bodies: "_Classes"  # classes of bodies that may stand for each other
    gaps: "_Classes"  # classes of gaps
    ratios: _Ratios  # of the bars as they are
    turned: _Ratios  # the same after each was turned
    may_turn: Flags  # [m], whether a bar's ratios stay above 0 then


class _Classes:
    """Positions [m] in classes, within which bodies or gaps are shuffled.

    Args:
        names: [m] of the class of each position.
    """

    def __init__(self, names: Ints) -> None:
        _, dense = np.unique(names, return_inverse=True)
        # Sorting 16 bits takes a tenth of the time.
        self._dense = dense.astype(np.uint16 if dense.max(initial=0) < 2**16 else np.int64)
        self._places = np.argsort(self._dense, kind="stable")

    def shuffle(self, drawn: Words) -> Ints:
        """Position [m] that each position is filled from: of its class, in the order of words."""
        by_word = np.argsort(drawn)
        ordered = drawn[by_word]
        if (ordered[1:] == ordered[:-1]).any():
            by_word = np.argsort(drawn, kind="stable")
        taken = np.empty_like(self._places)
        taken[self._places] = by_word[np.argsort(self._dense[by_word], kind="stable")]
        return taken


class NullMarkets:
    """Null markets of one or several series that were searched together.

    Args:
        series: [S], each once.
        windows: The searched windows of them; a series' bars from the end of its last one on are
            left out, and those before its first one stay.
        seed: Of the run.
        keep: Rhythm; ``"auto"`` is ``"day"`` where each minute of the day that occurs has 20 bars
            or more in every series, else ``"none"``.
        threads: Cores to make them on; all when None.
    """

    def __init__(
        self,
        series: Sequence[Bars],
        windows: Sequence[Window],
        seed: int,
        keep: Keep | Literal["auto"] = "auto",
        *,
        threads: int | None = None,
    ) -> None:
        ranges = [_find_range(number, windows) for number in range(len(series))]
        ended = [bars.until(end) for bars, (_, end) in zip(series, ranges, strict=True)]
        moving = [np.arange(max(start, 1), end) for start, end in ranges]
        self.keep: Keep = _choose_keep(ended, moving) if keep == "auto" else keep
        self._seed, self._threads = seed, threads
        times = np.concatenate([bars.timestamp for bars in ended])
        self._times, counts = np.unique(times, return_counts=True)
        is_common = counts == len(ended)
        self._series = [
            _split_series(bars, moving_bars, self._times, is_common, PERIODS_NS[self.keep])
            for bars, moving_bars in zip(ended, moving, strict=True)
        ]

    def shuffle_market(self, index: int) -> tuple[Bars, ...]:
        """Shuffled market `index`, from 1 on: [S] series that end with their windows."""
        bodies, gaps = (self._draw_words(index, name) for name in ("null_body", "null_gap"))
        return self._build_each(partial(_shuffle_series, bodies, gaps))

    def mirror_market(self, index: int) -> tuple[Bars, ...]:
        """Mirrored market `index`, from 1 on: [S] series that end with their windows."""
        is_top = self._draw_words(index, "null_mirror") >> np.uint64(63) == 1
        return self._build_each(partial(_mirror_series, is_top))

    def _build_each(self, build: Callable[[_Series], Bars]) -> tuple[Bars, ...]:
        """Results of building each series [S], those of a long market side by side."""
        cores = available_cores(self._threads)
        if len(self._series) == 1 or cores == 1 or len(self._times) < LONG_MARKET:
            return tuple(map(build, self._series))
        with ThreadPoolExecutor(min(cores, len(self._series)), "series") as pool:
            return tuple(pool.map(build, self._series))

    def _draw_words(self, index: int, purpose: str) -> Words:
        return draw_words(self._seed, index, purpose, len(self._times))


def _find_range(number: int, windows: Sequence[Window]) -> tuple[int, int]:
    searched = [window for window in windows if window.series == number]
    return min(window.start for window in searched), max(window.end for window in searched)


def _choose_keep(series: Sequence[Bars], moving: Sequence[Ints]) -> Keep:
    for bars, moving_bars in zip(series, moving, strict=True):
        _, counts = np.unique(
            _find_slots(bars.timestamp[moving_bars], PERIODS_NS["day"]), return_counts=True
        )
        if (counts < FEWEST_IN_SLOT).any():
            return "none"
    return "day"


def _find_slots(times: Ints, period_ns: int) -> Ints:
    """Minute of each time within its period."""
    minutes: Ints = times % period_ns // UNITS_NS["m"]
    return minutes


def _split_series(
    bars: Bars, moving: Ints, times: Ints, is_common: Flags, period_ns: int
) -> _Series:
    opened_at = bars.timestamp[moving]
    number = np.searchsorted(times, opened_at)
    is_opener = opened_at - bars.timestamp[moving - 1] > bars.timeframe_ns
    body_class = 2 * _find_slots(opened_at, period_ns) + is_common[number]
    opening = bars.open[moving]
    ratios = _Ratios(
        opening / bars.close[moving - 1],
        bars.high[moving] / opening,
        bars.low[moving] / opening,
        bars.close[moving] / opening,
    )
    turned = _mirror_ratios(ratios, is_opener)
    return _Series(
        bars,
        moving,
        number,
        _Classes(body_class),
        _Classes(2 * body_class + is_opener),
        ratios,
        turned,
        (turned.gap > 0) & (turned.low > 0),
    )


def _shuffle_series(body_words: Words, gap_words: Words, series: _Series) -> Bars:
    """A series with bodies and gaps [m] filled by words, one for each time of any series."""
    bars, kept = series.bars, len(series.bars) - len(series.moving)
    bodies = series.bodies.shuffle(body_words[series.number])
    gap, *body = series.ratios
    gaps = gap[series.gaps.shuffle(gap_words[series.number])]
    ratios = _Ratios(gaps, *(column[bodies] for column in body))
    # Numbers of the bars [T] that give each bar its body, volume and aligned columns.
    numbers = np.concatenate([np.arange(kept), series.moving[bodies]])
    return _rebuild_bars(series, ratios, numbers, np.zeros(len(bars), np.bool_))


def _mirror_series(is_top: Flags, series: _Series) -> Bars:
    """A series with some of its movable bars turned: those of times with a flag."""
    turns = series.may_turn & is_top[series.number]
    chosen = (np.where(turns, *pair) for pair in zip(series.turned, series.ratios, strict=True))
    is_turned = np.zeros(len(series.bars), np.bool_)
    is_turned[series.moving] = turns
    return _rebuild_bars(series, _Ratios(*chosen), np.arange(len(series.bars)), is_turned)


def _mirror_ratios(ratios: _Ratios, is_opener: Flags) -> _Ratios:
    """Each bar turned about the mean body, and about the mean gap of its kind."""
    mean = _mean(ratios.close)
    around = np.where(is_opener, _mean(ratios.gap[is_opener]), _mean(ratios.gap[~is_opener]))
    close = 2 * mean - ratios.close
    high = np.maximum(np.maximum(2 * mean - ratios.low, close), 1.0)
    low = np.minimum(np.minimum(2 * mean - ratios.high, close), 1.0)
    return _Ratios(2 * around - ratios.gap, high, low, close)


def _mean(values: Floats) -> float:
    """Mean of [m], summed in order; NaN of none."""
    return add_up(values) / len(values) if len(values) else float("nan")


def _rebuild_bars(series: _Series, ratios: _Ratios, bodies: Ints, turns: Flags) -> Bars:
    """The series with other bars in its window, prices multiplied forwards from the last kept.

    Volume and aligned columns go with their `bodies`, which `_rebuild_finer` takes as well.
    """
    bars, kept = series.bars, len(series.bars) - len(series.moving)
    steps = np.empty(2 * len(series.moving) + 1)
    steps[0], steps[1::2], steps[2::2] = bars.close[kept - 1], ratios.gap, ratios.close
    prices = np.multiply.accumulate(steps)
    opening = prices[1::2]
    opens, finer = np.concatenate([bars.open[:kept], opening]), bars.finer
    if finer is not None:
        finer = _rebuild_finer(bars, opens, kept, bodies, turns, _mean(series.ratios.close))
    return replace(
        bars,
        open=opens,
        high=np.concatenate([bars.high[:kept], opening * ratios.high]),
        low=np.concatenate([bars.low[:kept], opening * ratios.low]),
        close=np.concatenate([bars.close[:kept], prices[2::2]]),
        volume=bars.volume[bodies],
        extra={
            name: column if name in bars.dated else column[bodies]
            for name, column in bars.extra.items()
        },
        finer=finer,
    )


def _rebuild_finer(
    bars: Bars, opens: Floats, kept: int, bodies: Ints, turns: Flags, mean: float
) -> FinerBars:
    """Finer bars of a null market with opens [T], of the bars that were made up of any.

    At each bar stands the body of the bar numbered by `bodies` [T], turned about the mean of closes
    over opens where `turns` [T]; those `kept` before the first that moves stay to the last bit.
    """
    assert bars.finer is not None
    first, end = (edge[bodies] for edge in bars.finer_spans)
    counts = end - first
    bar = np.repeat(np.arange(len(bars)), counts)
    # The k-th finer bar of each bar, all bars one after the other.
    within = np.arange(len(bar)) - np.repeat(counts.cumsum() - counts, counts)
    taken = first[bar] + within
    ratios = bars.finer.prices[:, taken] / bars.open[bodies][bar]
    ratios = np.where(turns[bar], _turn_ratios(ratios, within == 0, mean), ratios)
    prices = np.where(bar < kept, bars.finer.prices[:, taken], ratios * opens[bar])
    moved = bars.timestamp[bar] - bars.timestamp[bodies][bar]
    times = bars.finer.timestamp[taken] + moved
    return FinerBars(times, prices, bars.finer.timeframe_ns, bars.finer.source)


def _turn_ratios(ratios: Floats, is_first: Flags, mean: float) -> Floats:
    """Ratios [4, K] about the mean; the first of a bar opens with it, whichever way it goes."""
    open_, high, low, close = ratios
    opened = np.where(is_first, 1.0, 2 * mean - open_)
    top = np.where(is_first, np.maximum(2 * mean - low, 1.0), 2 * mean - low)
    bottom = np.where(is_first, np.minimum(2 * mean - high, 1.0), 2 * mean - high)
    return np.array([opened, top, bottom, 2 * mean - close])
