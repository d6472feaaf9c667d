"""The proof, before a search and of a front, that no own indicator looks ahead.

An indicator runs on bars that are cut short, the shortest first, so that it cannot have kept later
ones from a call before. Its value at a bar must be the same in every bit wherever bars are cut; and
the same again after it ran on other bars, and of its file run once more.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from data.bars import Bars
from strategy.custom_indicator import OwnIndicator
from strategy.errors import IndicatorError
from strategy.expressions import Call, Higher
from strategy.files import rerun_indicator
from strategy.genes import Floats, Ints
from strategy.model import Strategy
from strategy.nodes import Node
from strategy.rows import Bools, Rows, bound, whole
from strategy.series import Series

CUTS = 64
"""Bars, evenly chosen, at which every call is cut; and as many at which a row of flags moves."""

SELDOM = 4
"""A row is one of flags where it moves at fewer than one bar in so many."""

MOST_SIGNALS = 200
"""Signals of shown individuals at which one call is cut, evenly chosen."""

Genes = Mapping[str, float]

OwnCall = tuple[Series, OwnIndicator, tuple[int, ...]]
"""A call of an indicator: on which series, of which parameters."""

CallSignals = dict[OwnCall, list[Ints]]
"""Calls of indicators, and the bars [S] at which individuals signal that read them."""


def prove_bounds(strategy: Strategy, markets: Iterable[Bars]) -> int:
    """Prove for the default genes, and for each gene at its bounds.

    Returns:
        Number of calls that were proved, each with its parameters once a series.

    Raises:
        IndicatorError: Naming function, parameters, and the first bar that differs.
    """
    return prove_individuals(strategy, markets, list(_corners(strategy)))


def prove_individuals(
    strategy: Strategy,
    markets: Iterable[Bars],
    individuals: Sequence[Genes],
    signals: Sequence[Sequence[Ints]] | None = None,
) -> int:
    """Prove for some individuals; earlier results could hide state kept between calls.

    Args:
        strategy: Whose own indicators.
        markets: Series [S] to prove it on.
        individuals: Values of genes by name, [N].
        signals: Bars at which to cut as well, such as those of their signals; [S] of [N].

    Returns:
        As `prove_bounds`, which raises the same.
    """
    if not strategy.own:
        return 0
    n_proved = 0
    nothing = [np.empty(0, np.int64)] * len(individuals)
    for number, bars in enumerate(markets):
        of_each = nothing if signals is None else signals[number]
        calls = collect_calls(strategy, bars, individuals, of_each)
        for (series, indicator, values), signal_bars in calls.items():
            signal = np.unique(np.concatenate(signal_bars))
            prove_causal(indicator, values, series, _evenly(signal, MOST_SIGNALS))
        n_proved += len(calls)
    return n_proved


def collect_calls(
    strategy: Strategy, bars: Bars, individuals: Sequence[Genes], signals: Sequence[Ints]
) -> CallSignals:
    """The calls of own indicators that individuals [N] read, each once, in their order.

    Args:
        strategy: Whose own indicators.
        bars: Of one market; calls inside of `higher` are on their higher bars.
        individuals: Values of genes by name, [N].
        signals: Bars [S] at which each individual signals, [N].
    """
    rows, calls = Rows(Series.of(bars)), CallSignals()
    for genes, signal_bars in zip(individuals, signals, strict=True):
        for part in strategy.parts:
            _collect(bound(part, genes), rows, signal_bars, calls)
    return calls


def prove_causal(
    indicator: OwnIndicator, values: Sequence[int], series: Series, also: Sequence[int] = ()
) -> None:
    """Prove on one series that no value of an own indicator depends on later bars.

    Bars are cut after bar t: after the first two bars that it knows, after the last but one, and
    after 63 between; a row of flags also where it moves, because any leak shows there.

    Args:
        indicator: Function that is proved, with its warm-up.
        values: Of its parameters.
        series: Bars to prove it on; a series no longer than the warm-up proves nothing.
        also: Further bars t to cut after, such as those at which an individual signals.

    Raises:
        IndicatorError: Naming function, parameters, and the first bar that differs.
    """
    warm_up, length = indicator.count_warm_up(values), len(series)
    if length <= warm_up:
        return

    def compute_prefix(end: int) -> Floats:
        return indicator.call_function(series.until(end), values, warm_up)

    cuts = {*_cuts(warm_up, length), *also}
    ends = sorted({cut + 1 for cut in cuts if warm_up <= cut < length} | {length})
    before = compute_prefix(ends[0])
    _others(indicator, values, series, warm_up)
    _require_same(indicator, values, before, compute_prefix(ends[0]))
    others: Floats | None = None
    for end, following in pairwise(ends):
        if following == length:
            others = _others(indicator, values, series.until(length - 1), warm_up)
        after = compute_prefix(following)
        if (first := _first_difference(before, after[:end])) is not None:
            _require_same(indicator, values, before, compute_prefix(end))
            if others is not None and _first_difference(after, others) is None:
                # It ran on as many other bars, and returns that row again.
                _require_same(indicator, values, before, after[:end])
            raise _looks_ahead(indicator, values, first, (end - 1, before), (following - 1, after))
        before = after
    row = indicator.compute_row(series, values)
    _require_same(indicator, values, before, row)
    if (anew := rerun_indicator(indicator)) is not None:
        again = anew.call_function(series, values, warm_up)
        _require_same(indicator, values, row, again, "when its file is run again")
    for cut in _moves(row, warm_up):
        until = compute_prefix(cut + 1)
        if (first := _first_difference(until, row[: cut + 1])) is not None:
            raise _looks_ahead(indicator, values, first, (cut, until), (length - 1, row))
    _require_as_kept(indicator, values, series, row)


def _others(
    indicator: OwnIndicator, values: Sequence[int], series: Series, warm_up: int
) -> Floats | None:
    """Row of other bars, one more than these: the same in the opposite order, [T + 1].

    An indicator that keeps it would return it for the true ones afterwards. None on a failure: it
    need not know such bars.
    """
    turned = series.map_columns(lambda column: np.append(column[::-1], column[:1]))
    stamps = np.append(series.timestamp, series.timestamp[-1:] + series.timeframe_ns)
    try:
        return indicator.call_function(replace(turned, timestamp=stamps), values, warm_up)
    except IndicatorError:
        return None


def _looks_ahead(
    indicator: OwnIndicator,
    values: Sequence[int],
    first: int,
    early_cut: tuple[int, Floats],
    late_cut: tuple[int, Floats],
) -> IndicatorError:
    """The error of a bar at which two rows differ; each comes after the bar of its cut."""
    (early, before), (late, after) = early_cut, late_cut
    return indicator.error(
        values,
        f"looks ahead: cut after bar {early} it says {_number(before[first])} at bar {first}, "
        f"cut after bar {late} {_number(after[first])}",
    )


def _require_same(
    indicator: OwnIndicator,
    values: Sequence[int],
    before: Floats,
    again: Floats,
    when: str = "when asked twice",
) -> None:
    """Refuse an indicator with two different rows for the same bars."""
    if (first := _first_difference(before, again)) is not None:
        raise indicator.error(
            values,
            f"says something else {when}, first at bar {first}: {_number(before[first])}, "
            f"then {_number(again[first])}; a call must keep nothing for the next one",
        )


def _require_as_kept(
    indicator: OwnIndicator, values: Sequence[int], series: Series, row: Floats
) -> None:
    """Refuse an indicator with another row in an earlier run: engines would read that.

    Its text, its libraries and the bars are the same then, so it reads something beside them.
    """
    if indicator.kept is None:
        return
    kept = indicator.row(series, values)
    if (first := _first_difference(kept, row)) is not None:
        indicator.kept.forget(indicator)
        raise indicator.error(
            values,
            f"said something else in an earlier run on these bars, first at bar {first}: "
            f"{_number(kept[first])}, now {_number(row[first])}; it reads more than the bars, such "
            "as a file, which column(...) is for; what was kept of it is removed, run this again",
        )


def _number(value: float) -> str:
    return repr(float(value))


def _first_difference(row: Floats, other: Floats) -> int | None:
    """First bar at which two rows differ in any bit, with NaN equal to NaN."""
    differs = _differs(row, other)
    return int(differs.argmax()) if differs.any() else None


def _differs(row: Floats, other: Floats) -> Bools:
    differs: Bools = (row != other) & ~(np.isnan(row) & np.isnan(other))
    return differs


def _moves(row: Floats, warm_up: int) -> list[int]:
    """Bars at which a row of flags differs from the bar before, evenly chosen."""
    moves = np.flatnonzero(_differs(row[1:], row[:-1])) + 1
    moves = moves[moves > warm_up]
    return _evenly(moves, CUTS) if len(moves) * SELDOM < len(row) else []


def _cuts(warm_up: int, length: int) -> Iterator[int]:
    yield from (warm_up, warm_up + 1, length - 2)
    for i in range(1, CUTS):
        yield warm_up + ((length - 1 - warm_up) * i) // CUTS


def _evenly(bars: Ints, most: int) -> list[int]:
    count = min(len(bars), most)
    return [int(bars[i * len(bars) // count]) for i in range(count)]


def _corners(strategy: Strategy) -> Iterator[Genes]:
    """The default genes, then each gene at its bounds or options; none breaks a constraint."""
    layout = strategy.layout
    yield layout.decode(layout.defaults)
    for column, gene in enumerate(layout.genes):
        for value in gene.extremes:
            bounds = layout.high if value == gene.high else layout.low
            genome = layout.defaults.copy()
            genome[column] = value
            for pair in layout.ordered:
                if column in pair and not genome[pair[0]] < genome[pair[1]]:
                    genome[pair] = bounds[pair]
            yield layout.decode(layout.repair(genome[None])[0][0])


def _collect(node: Node, rows: Rows, signals: Ints, calls: CallSignals) -> None:
    """Add the calls of own indicators in a part of a strategy."""
    if isinstance(node, Higher):
        rows, newest = rows.higher(node.minutes, node.offset)
        # The newest higher bar that is over, as the row itself reads it.
        signals = newest[signals][newest[signals] >= 0]
    if isinstance(node, Call) and isinstance(node.indicator, OwnIndicator):
        values = tuple(whole(setting) for setting in node.parameters)
        calls.setdefault((rows.series, node.indicator, values), []).append(signals)
    for part in node.parts:
        _collect(part, rows, signals, calls)
