"""Plans of a strategy's individuals on one series, as the numbers that loops and kernels read.

One walk over a strategy lowers each part to a form, to a formula that it reads at a bar, and to a
constant or a gene that it takes. Tables of names say in which columns loops and kernels find them.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from data.bars import Bars
from engine.accounts.costs import Costs, has_orders
from engine.conditions.cpu.codes import AskedWords
from engine.conditions.cpu.operands import Readings
from engine.conditions.cpu.parts import write_formula
from engine.conditions.switches import lower_conditions
from engine.indicators.individuals import list_gene_columns, resolve_values
from engine.indicators.warm_ups import WarmUps
from engine.positions.cpu.both_sides import CodedPopulation, session_exits
from engine.positions.cpu.exits import build_finer
from engine.positions.cpu.orders import BEYOND, REST, OrderedPopulation, OrderRules
from engine.positions.exit_spec import DAY_NS, MINUTE_NS, NONE, Bounds
from engine.runtime.compiling.loops import compiled_loop
from engine.runtime.cpu.bitset import Words
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints
from engine.runtime.lru_cache import ArrayCache
from strategy.conditions import Condition
from strategy.expressions import Expression, GeneValue, Number, Setting
from strategy.forms import (
    MOST_LEGS,
    AccountOf,
    Borrow,
    Funding,
    Leg,
    PaymentsOf,
    PriceOf,
    SessionExit,
    count_legs,
    find_rest,
    find_step,
    split_sides,
)
from strategy.genes import GenomeLayout
from strategy.model import Strategy
from strategy.nodes import Node, Parameter
from strategy.parts import CODES, PARTS, list_forms
from strategy.rows import Rows

PLAIN_PARTS: tuple[str, ...] = ("stop", "target", "trail")
"""Parts that have forms, in the order of `CodedPopulation`."""

ORDER_PARTS = ("stop", "trail", "entry", "size")
"""The same of `OrderedPopulation`, before the targets."""

FURTHER = ("trail.after", "entry.expires", "entry.through", "rest", "slippage")
"""Further numbers of a side there; the rest is what its targets leave."""

TERMS = ("stake", "account.leverage", "cooldown", "even_offset")
"""Numbers that both sides share there, before the bounds of exits."""

BOUNDS = {f"exit_bounds.{name}": end for name, end in Bounds()._asdict().items()}
"""Bounds of a side's exits, and what each is where there is none."""

ABSENT = {"stake": np.inf, "account.leverage": np.inf, **BOUNDS}
"""Numbers for absent ones, if not 0; parts have theirs in `PARTS`."""

NOWHERE = -1
"""In place of a row where an individual reads none."""

KEPT_BYTES = 2**28
"""Rows that are kept for the next population; the least recently read is let go first."""


class LoweredPart(NamedTuple):
    """A part of one side as numbers."""

    form: int = NONE  # of `engine.positions.exit_spec`
    read: Expression | None = None  # read at a bar; None if nothing is
    number: Setting | None = None  # a constant or a gene that it takes
    absent: float = 0.0  # in its place where there is none


Parts = dict[str, LoweredPart]
"""Parts of one side by name, common ones among them. A number that a part takes beside
its form is named as `trail.after`, targets are `leg_0`, `leg_1`, and their shares `leg_0.share`."""


def lower_parts(spec: Strategy) -> tuple[Parts, Parts]:
    """Parts of longs and of shorts."""
    sides: tuple[Parts, Parts] = {}, {}
    for name, part in PARTS.items():
        for parts, what in zip(sides, part.split(spec), strict=True):
            if isinstance(part.takes, Parameter):
                parts[name] = LoweredPart(number=what, absent=part.absent)
            elif isinstance(what, Node) and not isinstance(what, Condition):
                parts |= _lower_node(name, what)
    return sides


def _lower_node(name: str, node: Any) -> Parts:  # noqa: ANN401 - a node of any part
    """A part, and its arguments beside its form."""
    parts = {f"{name}.{one.name}": LoweredPart(number=number) for one, number in node.settings}
    legs = (Leg(node, Number(1.0)),) if name == "target" else getattr(node, "legs", ())
    for number, leg in enumerate(legs):
        parts |= _lower_node(f"leg_{number}", leg)
    for form in list_forms(node)[:1]:
        numbers: list[Any] = [number for _, number in form.settings]
        if isinstance(node, AccountOf):
            parts |= {"size": LoweredPart(read=form.reads), "stake": LoweredPart(number=numbers[0])}
        elif form.reads is None:
            parts[name] = LoweredPart(CODES[type(form)], number=numbers[0])
        else:
            # Rows of slippage are carried along time.
            read = None if isinstance(form, PriceOf) else form.reads
            parts[name] = LoweredPart(CODES[type(form)], read)
    return parts


def find_part(parts: Parts, name: str) -> LoweredPart:
    """A part of a side, also of a side without one."""
    return parts.get(name) or LoweredPart(absent=ABSENT.get(name, 0.0))


def count_targets(parts: Parts) -> int:
    """Targets of a side."""
    return sum(f"leg_{number}" in parts for number in range(MOST_LEGS))


def name_legs(sides: Sequence[Parts], field: str = "") -> tuple[str, ...]:
    """Names of the targets of the side that has more of them, or of a number of each."""
    return tuple(f"leg_{number}{field}" for number in range(max(map(count_targets, sides))))


def list_charges(spec: Strategy) -> tuple[object, ...]:
    """Slippage and borrow of longs and shorts, and funding: what may be carried along time."""
    return (*split_sides(spec.slippage), *split_sides(spec.borrow), spec.funding)


def list_pairs(sides: Sequence[Parts], names: Iterable[str]) -> list[list[LoweredPart]]:
    """Parts by name, of longs and shorts each."""
    return [[find_part(parts, name) for parts in sides] for name in names]


class PartColumns:
    """Numbers that parts take, as columns of genomes [P, G] with constants beside them."""

    def __init__(self, parts: Sequence[LoweredPart], layout: GenomeLayout) -> None:
        columns: list[int] = []
        constants: list[float] = []
        for part in parts:
            if isinstance(part.number, GeneValue):
                columns.append(layout.index(part.number.gene.name))
            else:
                columns.append(len(layout) + len(constants))
                constants.append(part.absent if part.number is None else part.number.value)
        self.columns, self.constants = np.array(columns, np.int64), np.array(constants)

    def add_constants(self, genomes: Floats) -> Floats:
        """Genomes with the constants beside them."""
        constants = np.broadcast_to(self.constants, (len(genomes), len(self.constants)))
        return np.concatenate([genomes, constants], 1)

    def take(self, genomes: Floats) -> Floats:
        """Numbers [P, n] of individuals."""
        return np.take(self.add_constants(genomes), self.columns, axis=1)


def take_number(part: LoweredPart, layout: GenomeLayout, genomes: Floats) -> Floats:
    """The number [P] that a part takes of individuals [P, G]."""
    if part.number is None:
        return np.full(len(genomes), part.absent)
    return resolve_values(part.number, layout, genomes)


class SessionEnds:
    """Where the clock ends positions on a series."""

    def __init__(self, session: SessionExit, bars: Bars) -> None:
        self._session, self._bar_ns = session, bars.timeframe_ns
        self._local_ns = session.local_time(bars.timestamp)

    def list_exits(self, minute: float) -> Ints:
        """Bars by `session_exits`, [T], by a minute of the local day."""
        return session_exits(
            self._local_ns, self._session.last_minute(minute) * MINUTE_NS, self._bar_ns
        )

    def list_day_ends(self) -> Ints:
        """The last bar of each bar's session, [T]."""
        days = self._local_ns // DAY_NS
        ends = np.append(np.flatnonzero(days[1:] != days[:-1]), len(days) - 1)
        ends_of: Ints = ends[np.searchsorted(ends, np.arange(len(days)))]
        return ends_of


def build_rules(spec: Strategy, costs: Costs, sides: Sequence[Parts]) -> OrderRules:
    """Rules of orders that all individuals share; plain but for their delays."""
    multiplier = 1.0 if spec.market is None else spec.market.multiplier.value  # type: ignore[union-attr]
    extra = spec.reverse, spec.trail, spec.slippage, spec.borrow, spec.funding, spec.account
    return OrderRules(
        float(costs.per_side),
        float(costs.min_risk),
        float(costs.fee_unit) / multiplier,
        *find_step(spec.market, "tick"),
        0 if spec.after_leg is None else spec.after_leg.leg,
        find_part(sides[0], "even_offset").form,
        bool(spec.named_stops),
        bool(spec.reverse),
        count_legs(spec.targets),
        np.array([count_targets(parts) for parts in sides], np.int64),
        np.array([find_part(parts, "slippage").form for parts in sides], np.int64),
        is_plain=all(part is None for part in extra),
    )


class PopulationEncoder:
    """Plans of individuals on one series, for CPU cores.

    `sides` are the parts of longs and of shorts.
    """

    def __init__(
        self,
        spec: Strategy,
        bars: Bars,
        rows: Rows,
        workers: Threads,
        costs: Costs,
        capacity: int,
    ) -> None:
        self.has_orders = has_orders(spec, costs)
        self.sides = sides = lower_parts(spec)
        self._spec, self._costs = spec, costs
        self._conditions = lower_conditions(spec)
        names = (*ORDER_PARTS, *name_legs(sides)) if self.has_orders else PLAIN_PARTS
        pairs = list_pairs(sides, names)
        reads = [part.read for pair in pairs for part in pair]
        values = [read for read in reads if read is not None]
        asked = [known for known in dict.fromkeys(self._conditions) if known is not None]
        self._readings = Readings(rows, spec.layout, workers, asked, values, capacity)
        parts = [
            None if known is None else self._readings.part(known) for known in self._conditions
        ]
        self._asked = list(dict.fromkeys(part for part in parts if part is not None))
        # Of each side's entry, exit and cancel; -1: it has none.
        numbers = [NOWHERE if part is None else self._asked.index(part) for part in parts]
        self._choices = np.array(numbers, np.int64).reshape(3, 2)
        self._formula, ends = write_formula(*map(self._readings.part, values))
        self._spans = np.zeros((len(reads), 2), np.int64)
        self._spans[[read is not None for read in reads]] = np.stack([ends[:-1], ends[1:]], 1)
        self._forms = np.array([[part.form for part in pair] for pair in pairs], np.int64)
        self._numbers = self._by_side(names if self.has_orders else (*names, "trail.after"))
        self._shares = self._by_side(name_legs(sides, ".share"))
        self._further = self._by_side(FURTHER)
        terms = [find_part(sides[0], name) for name in TERMS]
        if spec.exit_bounds is not None:
            terms += [find_part(parts, name) for parts in sides for name in BOUNDS]
        self._terms = PartColumns(terms, spec.layout)
        self._warm_ups, self._finer = WarmUps(spec), build_finer(bars)
        self._carried = CarriedRows(rows, bars, spec.layout)
        self._ends = None if spec.session is None else SessionEnds(spec.session, bars)
        self._sessions: dict[float, Ints] = {}
        none = np.empty(0, np.int64)
        self._day_ends = none if self._ends is None else self._ends.list_day_ends()

    @property
    def n_rows(self) -> int:
        """Rows that an individual reads, at most."""
        return self._readings.n_rows

    @property
    def holds_words(self) -> bool:
        """True if conditions of an individual may be decided before they are read."""
        return self._readings.holds_words

    def with_costs(self, costs: Costs) -> Self:
        """The same with other costs; rows serve both."""
        other = copy(self)
        other._costs = costs
        return other

    def encode(
        self, genomes: Floats, span: tuple[int, int]
    ) -> tuple[CodedPopulation | OrderedPopulation, AskedWords]:
        """Individuals [P, G] on a span of bars, valid until the next call.

        With room of each thread for words, and how these are decided.
        """
        read, count = self._readings, len(genomes)
        # Orders of earlier bars may stand at the first one.
        read.begin(genomes, None if self.has_orders else span)
        asked = read.ask(self._asked)
        entries, exits, cancels = (np.tile(row, (count, 1)) for row in self._choices)
        leaves = read.leaves(self._formula, np.arange(count))
        sessions, session_of = self._find_sessions(count)
        break_even, max_hold, delay = (
            take_number(self.sides[0][name], self._spec.layout, genomes)
            for name in ("break_even", "max_hold", "delay")
        )
        shared: dict[str, Any] = {
            "words": read.make_word_room(asked),
            "steps": self._formula.steps,
            "spans": self._spans,
            "rows": leaves.rows,
            "leaves": leaves.numbers,
            "sessions": sessions,
            "forms": self._forms,
            "entries": entries,
            "exits": exits,
            "numbers": self._numbers.take(genomes).reshape(2 * count, -1),
            "break_even": np.ascontiguousarray(break_even),
            "max_hold": max_hold.astype(np.int64),
            "delay": delay.astype(np.int64) + int(self._costs.entry_delay),
            "warm_up": np.broadcast_to(self._warm_ups.of(read.individuals), count).copy(),
            "session_of": session_of,
            "finer": self._finer[0],
            "finer_of": self._finer[1],
        }
        if not self.has_orders:
            return CodedPopulation(**shared), asked
        charges = list_charges(self._spec)
        worse, worse_of = self._carried.find(charges[:2], genomes)
        paid, paid_of = self._carried.find(charges[2:], genomes)
        shares = self._shares.take(genomes).reshape(2 * count, -1)
        ordered = OrderedPopulation(
            **shared,
            day_ends=self._day_ends,
            cancels=cancels,
            shares=shares,
            further=self._complete(self._further.take(genomes).reshape(2 * count, -1), shares),
            worse=worse,
            worse_of=worse_of.reshape(-1),
            paid=paid,
            borrow_of=np.ascontiguousarray(paid_of[:, :2].reshape(-1)),
            funding_of=np.ascontiguousarray(paid_of[:, 2]),
            terms=self._terms.take(genomes),
        )
        return ordered, asked

    def list_words(self, asked: AskedWords) -> Words:
        """Words that were asked for, [P, C, N]."""
        return self._readings.list_words(asked)

    def _by_side(self, names: Sequence[str]) -> PartColumns:
        """Columns of parts of longs, then of shorts."""
        parts = [find_part(side, name) for side in self.sides for name in names]
        return PartColumns(parts, self._spec.layout)

    def _find_sessions(self, count: int) -> tuple[Ints, Ints]:
        """Ends of positions by the clock [Q, T], and the place of each individual's [P]."""
        if self._ends is None or self._spec.session is None:
            return np.empty((1, 0), np.int64), np.full(count, -1, np.int64)
        asked = self._readings.values(self._spec.session.minute)
        minutes, minute_of = np.unique(asked, return_inverse=True)
        for minute in minutes:
            if minute not in self._sessions:
                self._sessions[minute] = self._ends.list_exits(minute)
        return np.array([self._sessions[minute] for minute in minutes]), minute_of.astype(np.int64)

    def _complete(self, further: Floats, shares: Floats) -> Floats:
        """Further numbers [2 P, 5] with ticks as a price, and the share that no target takes."""
        tick = find_step(self._spec.market, "tick")
        further[:, BEYOND] = further[:, BEYOND] * tick.numerator / tick.denominator
        has_targets = [count_targets(parts) > 0 for parts in self.sides]
        is_ladder = np.tile(has_targets, len(further) // 2)
        further[:, REST] = np.where(is_ladder, find_rest(shares.T), 0.0)
        return further


class CarriedRows:
    """Rows of one series that follow from rows of a strategy."""

    def __init__(self, rows: Rows, bars: Bars, layout: GenomeLayout) -> None:
        self._rows, self._bars, self._layout = rows, bars, layout
        self._kept = ArrayCache(KEPT_BYTES)

    def find(self, charges: Sequence[object], genomes: Floats) -> tuple[Floats, Ints]:
        """Rows [n, T] of several charges, and the places that individuals [P, G] read, [P, C]."""
        listed: list[Floats] = []
        row_numbers = np.full((len(genomes), len(charges)), NOWHERE)
        for number, charge in enumerate(charges):
            if not isinstance(charge, Funding | Borrow | PriceOf):
                continue
            source = charge.row if isinstance(charge, PriceOf) else charge.rate
            columns = list(list_gene_columns(source, self._layout))
            values, number_of = np.unique(genomes[:, columns], axis=0, return_inverse=True)
            row_numbers[:, number] = len(listed) + number_of.reshape(-1)
            names = [self._layout.names[column] for column in columns]
            for some in values.tolist():
                genes = dict(zip(names, some, strict=True))
                key = charge, tuple(some)
                make = partial(self._derive, charge, source, genes)
                listed.append(self._kept.get(key, make))
        length = len(self._bars)
        return np.array(listed).reshape(len(listed), length), row_numbers

    def _derive(
        self, charge: Node, source: Expression | PaymentsOf, genes: dict[str, float]
    ) -> Floats:
        bars = self._bars
        if isinstance(source, PaymentsOf):
            paid = bars.payments[source.name]
            return add_up_dated(paid.find_bars(bars.timestamp), paid.rates, bars.open)
        row = self._rows.values(source, genes)
        if isinstance(charge, Funding | Borrow):
            every_ns = 0 if charge.every is None else charge.every * MINUTE_NS
            return add_up_payments(row, bars.open, bars.timestamp, every_ns, charge.repeats)
        return newest_known(row)


@compiled_loop
def newest_known(row: Floats) -> Floats:
    """The newest known value [T] of a row at each bar; NaN before the first."""
    out = np.empty(row.size)
    newest = np.nan
    for t in range(row.size):
        if row[t] == row[t]:
            newest = row[t]
        out[t] = newest
    return out


@compiled_loop
def add_up_payments(
    rates: Floats, opens: Floats, timestamp: Ints, every_ns: int, repeats: bool
) -> Floats:
    """Charges paid up to the open of each bar, [T] price, from the first bar on.

    Args:
        rates: [T] fraction of the price; NaN where nothing is charged.
        opens: [T] prices.
        timestamp: [T] when bars open, nanoseconds UTC.
        every_ns: Time between two payments; 0: each bar pays.
        repeats: Whether a bar pays for each of the times since the one before, not once.
    """
    out = np.zeros(opens.size)
    for j in range(1, opens.size):
        out[j] = out[j - 1]
        count = 1
        if every_ns > 0:
            count = timestamp[j] // every_ns - timestamp[j - 1] // every_ns
        if not repeats:
            count = min(count, 1)
        if count > 0 and rates[j - 1] == rates[j - 1]:
            out[j] = out[j - 1] + count * rates[j - 1] * opens[j]
    return out


@compiled_loop
def add_up_dated(bars: Ints, rates: Floats, opens: Floats) -> Floats:
    """Payments [N] of bars up to the open of each of them, [T] price; the first bar has none."""
    out = np.zeros(opens.size)
    number = 0
    for j in range(1, opens.size):
        out[j] = out[j - 1]
        while number < bars.size and bars[number] == j:
            out[j] += rates[number] * opens[j]
            number += 1
    return out
