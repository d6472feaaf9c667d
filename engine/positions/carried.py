"""Rows that follow from rows of a strategy: what was paid so far, what is known newest."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from data.bars import Bars
from engine.indicators.individuals import list_gene_columns
from engine.positions.exit_spec import MINUTE_NS
from engine.runtime.compiling.loops import compiled_loop
from engine.runtime.cpu.types import Floats, Ints
from engine.runtime.lru_cache import ArrayCache
from strategy.expressions import Expression
from strategy.genes import GenomeLayout
from strategy.money import Borrow, Funding, PaymentsOf, PriceOf
from strategy.nodes import Node
from strategy.rows import Rows

NOWHERE = -1
"""In place of a row where an individual reads none."""

KEPT_BYTES = 2**28
"""Rows that are kept for the next population; what was read longest ago is let go first."""


class CarriedRows:
    """Rows of one series that follow from rows of a strategy.

    Args:
        rows: Of the series.
        bars: Likewise.
        layout: Of the genomes.
    """

    def __init__(self, rows: Rows, bars: Bars, layout: GenomeLayout) -> None:
        self._rows, self._bars, self._layout = rows, bars, layout
        self._kept = ArrayCache(KEPT_BYTES)

    def find(self, charges: Sequence[object], genomes: Floats) -> tuple[Floats, Ints]:
        """Rows [n, T] of several charges, and which of them individuals [P, G] read, [P, C]."""
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
