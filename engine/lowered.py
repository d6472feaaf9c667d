"""A strategy lowered to numbers: what compiled loops and kernels read in place of names."""

from typing import NamedTuple, cast

import numpy as np

from engine.contract import Floats, Form, Ints
from engine.costs import Costs
from engine.fast_case import FastCase
from engine.orders import BEYOND_BAR, FROM_ENTRY, LEVEL, NONE, R_MULTIPLE, SHARE
from engine.rows.coders import Coder, form_of, is_with_gene
from strategy.exits import BeyondBar, FromEntry, Level, RMultiple, Share, Trail, sides_of
from strategy.expressions import Expression, Setting
from strategy.model import Strategy

FORMS = {
    BeyondBar: BEYOND_BAR,
    FromEntry: FROM_ENTRY,
    Share: SHARE,
    Level: LEVEL,
    RMultiple: R_MULTIPLE,
}
"""Number of each form of a stop or a target."""


class Entry(NamedTuple):
    """The entry conjunction as arrays; columns refer to rows and genes of the fast case.

    Args:
        genes: [C, 3] int64: row, gene, 1 for ``>`` and 0 for ``<``; decided on codes.
        scales: [C, 2] float64: low and scale of the row's codes.
        pairs: [D, 3] int64: left row, right row, 1 for ``>`` and 0 for ``<``; decided on codes.
        exact: [E, 3] int64: the same, for rows whose codes have different maps.
        warm_rows: [L] int64: rows, the longest of whose warm-ups is an individual's.
    """

    genes: Ints
    scales: Floats
    pairs: Ints
    exact: Ints
    warm_rows: Ints


class Exits(NamedTuple):
    """The bracket and the costs as numbers; the first four are columns, not values.

    Args:
        stop_row: Row of the fast case that measures the stop's distance.
        stop_mult: Gene.
        reward: Gene.
        max_hold: Gene.
        per_side: Cost of a side as a fraction of notional.
        min_risk: Fraction of the entry price.
        risk_fraction: Fraction of equity per R.
        delay: Bars by which an entry is later than the bar after its signal.
    """

    stop_row: int
    stop_mult: int
    reward: int
    max_hold: int
    per_side: float
    min_risk: float
    risk_fraction: float
    delay: int


class Lowered(NamedTuple):
    """A stop, a target or a trailing stop of one side as numbers.

    Args:
        form: Of `engine.orders`.
        read: What it reads at the signal bar; None where it takes a number or is not there.
        number: A constant or a gene; None where it reads.
    """

    form: int
    read: Expression | None = None
    number: Setting | None = None


def form_of_exit(form: object) -> Lowered:
    """A form of `strategy.exits` as numbers; None is no form."""
    if form is None:
        return Lowered(NONE)
    number = FORMS[type(form)]  # type: ignore[index]
    if isinstance(form, Share):
        return Lowered(number, number=form.fraction)
    if isinstance(form, RMultiple):
        return Lowered(number, number=form.multiple)
    read = form.price if isinstance(form, Level) else cast(FromEntry, form).distance
    return Lowered(number, read)


def lower_exits(strategy: Strategy) -> tuple[list[list[Lowered]], list[Setting | None]]:
    """Stop, target and trailing stop of each side, and from which gain on each side's stop follows.

    The first has three pairs, of longs and shorts each; the second is one pair.
    """
    trails = [one if isinstance(one, Trail) else None for one in sides_of(strategy.trail)]
    followed = [None if one is None else one.form for one in trails]
    forms = sides_of(strategy.stop), sides_of(strategy.target), followed
    lowered = [[form_of_exit(side) for side in pair] for pair in forms]
    return lowered, [None if one is None else one.after for one in trails]


def entry_of(case: FastCase, coders: dict[Form, Coder]) -> Entry:
    """The entry conjunction as arrays, each comparison where it is decided fastest."""
    gene_rows: list[tuple[int, int, int]] = []
    row_pairs: list[tuple[int, int, int]] = []
    exact: list[tuple[int, int, int]] = []
    scales: list[Coder] = []
    for comparison in case.entry:
        is_greater = int(comparison.relation == ">")
        left = case.row_index[comparison.left]
        left_coder = coders[form_of(case, comparison.left)]
        if is_with_gene(case, comparison):
            gene_rows.append((left, case.layout.index(comparison.right), is_greater))
            scales.append(left_coder)
            continue
        pair = (left, case.row_index[comparison.right], is_greater)
        is_shared = left_coder == coders[form_of(case, comparison.right)]
        (row_pairs if is_shared else exact).append(pair)
    return Entry(
        np.array(gene_rows, np.int64).reshape(-1, 3),
        np.array(scales, np.float64).reshape(-1, 2),
        np.array(row_pairs, np.int64).reshape(-1, 3),
        np.array(exact, np.int64).reshape(-1, 3),
        np.array(_warm_rows(case), np.int64),
    )


def _warm_rows(case: FastCase) -> list[int]:
    """Rows that have a warm-up; one of those with the same length."""
    chosen = {row.length: place for place, row in enumerate(case.rows) if row.length is not None}
    return sorted(chosen.values())


def exits_of(case: FastCase, costs: Costs) -> Exits:
    """The bracket and the costs as numbers."""
    bracket, layout = case.bracket, case.layout
    assert bracket is not None
    return Exits(
        case.row_index[bracket.stop_row],
        layout.index(bracket.stop_mult),
        layout.index(bracket.reward),
        layout.index(bracket.max_hold),
        float(costs.per_side),
        float(costs.min_risk),
        float(costs.risk_fraction),
        int(costs.entry_delay),
    )
