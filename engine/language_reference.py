"""The oracle of strategies in words: one individual at a time, each part as the law states it.

It shares no code with the batch engine. Rows and conditions are those of `strategy`, trades those
of `engine.trades`; their loops run as plain Python reads them, or compiled in the same words.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from data.bars import Bars, Window
from engine import orders
from engine.costs import Costs
from engine.ledger import Ledger
from engine.orders import Clock, Limits, Plan, clock_of, form_of, plan_of
from engine.reference import BaseReference, Form, Genes, Reference, as_it_reads
from engine.trades import ledger_of, side_asked, take_signals
from strategy.clock import local_time
from strategy.conditions import Condition
from strategy.exits import BeyondBar, FromEntry, Level, RMultiple, Share, Trail, sides_of
from strategy.expressions import GeneValue, Number, holds_row
from strategy.genes import Floats
from strategy.model import Strategy
from strategy.narrow import AnyStrategy
from strategy.nodes import Node
from strategy.rows import Rows
from strategy.series import Series
from strategy.signals import Bools, truth
from strategy.wording import written


class LanguageReference(BaseReference):
    """Backtests single individuals of a strategy in words; threads may share it.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        windows: Each an independent backtest.
        costs: Costs and risk rules.
        form: How its loops are run.
    """

    def __init__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        windows: Sequence[Window],
        costs: Costs | None = None,
        *,
        form: Form = as_it_reads,
    ) -> None:
        super().__init__(series, windows, costs, form)
        self.spec = spec
        self._rows = [
            Rows(Series.of(bars), form, self._kept, (number,))
            for number, bars in enumerate(self.series)
        ]

    def signals(self, genome: Floats) -> tuple[list[int], ...]:
        """Bars at which one side of an individual [G] asks for an entry, and not both."""
        genes = self.spec.layout.decode(genome)
        found = []
        for window in self.windows:
            longs, shorts = self._sides(genes, window.series)
            last = window.end - 1 - self._delay(genes)
            bars = range(self._first(genes, window), last)
            found.append([t for t in bars if side_asked(longs, shorts, t)])
        return tuple(found)

    def contradictions(self, genome: Floats) -> int:
        """How many bars of all windows have both sides of an individual [G] ask for an entry."""
        genes = self.spec.layout.decode(genome)
        count = 0
        for window in self.windows:
            longs, shorts = self._sides(genes, window.series)
            bars = slice(self._first(genes, window), window.end - 1 - self._delay(genes))
            count += int((longs.signals[bars] & shorts.signals[bars]).sum())
        return count

    def rows(self, genes: Genes, series: int) -> dict[str, Floats]:
        """All rows [T] of one series that conditions and exits read, as they are written."""
        found = [one for one in self.spec.expressions if holds_row(one)]
        return {written(one): self._rows[series].values(one, genes) for one in found}

    def conditions(self, genes: Genes, series: int) -> dict[str, Bools]:
        """Conditions of entries and exits: whether each holds, [T], also in the warm-up."""
        names = ("long", "short", "exit_long", "exit_short")
        parts = {name: getattr(self.spec, name) for name in names}
        rows = self._rows[series]
        return {name: truth(part, rows, genes) for name, part in parts.items() if part is not None}

    def truth(self, condition: Condition, genes: Genes, series: int) -> Bools:
        """Whether a condition holds, [T], also in the warm-up."""
        return truth(condition, self._rows[series], genes)

    def _backtests(self, genome: Floats, windows: Iterable[int]) -> Iterator[Ledger]:
        genes = self.spec.layout.decode(genome)
        limits = self._limits(genes)
        for series, windows_ in self._of_series(windows):
            clock, sides = self._clock(genes, series), self._sides(genes, series)
            for window in windows_:
                first, prices = self._first(genes, window), self._prices[series]
                taken = self._run(take_signals, prices, clock, *sides, limits, first, window.end)
                yield ledger_of(taken)

    def _first(self, genes: Genes, window: Window) -> int:
        """The first bar of a window that may signal: none before everything is known."""
        return max(window.start, self.spec.warm_up(genes))

    def _delay(self, genes: Genes) -> int:
        return int(_value(self.spec.delay, genes)) + int(self.costs.entry_delay)

    def _limits(self, genes: Genes) -> Limits:
        spec = self.spec
        return Limits(
            float("nan") if spec.break_even is None else _value(spec.break_even, genes),
            0 if spec.max_hold is None else int(_value(spec.max_hold, genes)),
            self._delay(genes),
            float(self.costs.per_side),
            float(self.costs.min_risk),
        )

    def _clock(self, genes: Genes, series: int) -> Clock:
        bars, session = self.series[series], self.spec.session
        if session is None:
            return clock_of(bars.timestamp, bars.timeframe_ns)
        local = local_time(bars.timestamp, session.offset)
        shift_minutes = (local - bars.timestamp) // orders.MINUTE_NS
        minute = int(_value(session.minute, genes))
        return clock_of(bars.timestamp, bars.timeframe_ns, minute, shift_minutes)

    def _sides(self, genes: Genes, series: int) -> tuple[Plan, Plan]:
        spec, rows = self.spec, self._rows[series]
        stops, targets, trails = map(sides_of, (spec.stop, spec.target, spec.trail))
        entries, exits = (spec.long, spec.short), (spec.exit_long, spec.exit_short)
        longs, shorts = (
            plan_of(
                side,
                _truth(entries[place], rows, genes),
                _placed(stops[place], rows, genes),
                exits=None if exits[place] is None else _truth(exits[place], rows, genes),
                target=_placed(targets[place], rows, genes),
                trail=_placed(_followed(trails[place]), rows, genes),
                after=_after(trails[place], genes),
            )
            for place, side in enumerate((1, -1))
        )
        return longs, shorts


AnyReference = Reference | LanguageReference


def reference_of(
    spec: AnyStrategy,
    series: Sequence[Bars],
    windows: Sequence[Window],
    costs: Costs | None = None,
    *,
    form: Form = as_it_reads,
) -> AnyReference:
    """The reference of a strategy; arguments as in `Reference`."""
    if isinstance(spec, Strategy):
        return LanguageReference(spec, series, windows, costs, form=form)
    return Reference(spec, series, windows, costs, form=form)


def _truth(condition: Condition | None, rows: Rows, genes: Genes) -> Bools:
    if condition is None:
        return np.zeros(len(rows.series), np.bool_)
    return truth(condition, rows, genes)


def _value(setting: Node, genes: Genes) -> float:
    """The value of a constant or a gene."""
    if isinstance(setting, GeneValue):
        return float(genes[setting.gene.name])
    assert isinstance(setting, Number)
    return setting.value


def _placed(form: object, rows: Rows, genes: Genes) -> orders.Form:
    """Where a stop or a target stands, or how far behind a trailing stop follows."""
    if form is None:
        return form_of()
    if isinstance(form, Share):
        return form_of(orders.SHARE, _value(form.fraction, genes))
    if isinstance(form, RMultiple):
        return form_of(orders.R_MULTIPLE, _value(form.multiple, genes))
    if isinstance(form, Level):
        return form_of(orders.LEVEL, row=rows.values(form.price, genes))
    assert isinstance(form, BeyondBar | FromEntry)
    number = orders.BEYOND_BAR if isinstance(form, BeyondBar) else orders.FROM_ENTRY
    return form_of(number, row=rows.values(form.distance, genes))


def _followed(trail: object) -> object:
    return trail.form if isinstance(trail, Trail) else None


def _after(trail: object, genes: Genes) -> float:
    return _value(trail.after, genes) if isinstance(trail, Trail) else 0.0
