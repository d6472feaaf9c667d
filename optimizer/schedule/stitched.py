"""The stitched ledger: one chain of trades a symbol, each entered by the pick of its bar's step.

A position that is open at a border runs on under the genes that entered it, and ends by them alone;
until then new genes are not heard. Limits are those of one account through all steps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from data.bars import Bars, Window
from data.checks import Floats, Ints
from engine.accounts.ledger import COUNTS, Ledger, Trade
from engine.accounts.limits import build_limits
from engine.reference import Reference
from engine.reference_account import take_account
from optimizer.schedule.dates import Step

Picks = Sequence[Floats | None]
"""Genome [G] of each step; None of an empty front, which enters nothing."""


@dataclass(frozen=True, eq=False)
class Stitched:
    """Trades of a schedule."""

    series: tuple[Bars, ...]  # [S] that windows refer to
    windows: tuple[Window, ...]  # [W], each from the first date on
    ledgers: tuple[Ledger, ...]  # [W]
    steps: tuple[Ints, ...]  # [W], number of the step that entered each trade, [K]
    borders: tuple[tuple[int, ...], ...]  # [W], first bar of each step, and the end

    @property
    def n_over_border(self) -> int:
        """Number of trades that were open at a border."""
        return sum(
            int((ledger.exit_bar >= np.array(borders)[steps + 1]).sum())
            for ledger, steps, borders in zip(self.ledgers, self.steps, self.borders, strict=True)
        )

    def list_entered(self, step: int) -> tuple[Ledger, ...]:
        """Trades that a step entered, a ledger a window, [W]."""
        pairs = zip(self.ledgers, self.steps, strict=True)
        return tuple(ledger.keep(steps == step) for ledger, steps in pairs)


def stitch(
    reference: Reference, windows: Sequence[Window], steps: Sequence[Step], picks: Picks
) -> Stitched:
    """Trades of the picks of all steps.

    Args:
        reference: Of the strategy and the series that windows refer to.
        windows: [W] searched ones, as steps were planned on them.
        steps: In the order of time.
        picks: Of each step.
    """
    traded: list[Window] = []
    borders: list[tuple[int, ...]] = []
    for number, window in enumerate(windows):
        cuts = *(step.borders[number] for step in steps), window.end
        # A market that ends before the first date trades nothing.
        if cuts[0] < window.end:
            traded.append(replace(window, start=cuts[0]))
            borders.append(cuts)
    trade = _share_account if reference.costs.has_limits else _trade_apart
    by_step = trade(reference, traded, borders, picks)
    entered = [np.repeat(np.arange(len(picks)), [len(part) for part in parts]) for parts in by_step]
    ledgers = tuple(map(join_ledgers, by_step))
    return Stitched(reference.series, tuple(traded), ledgers, tuple(entered), tuple(borders))


def _trade_apart(
    reference: Reference, windows: Sequence[Window], borders: Sequence[Sequence[int]], picks: Picks
) -> list[list[Ledger]]:
    """Trades of each step [K] in each window [W], whatever others hold."""
    return [
        list(_chain(reference, window, cuts, picks))
        for window, cuts in zip(windows, borders, strict=True)
    ]


def _chain(
    reference: Reference, window: Window, cuts: Sequence[int], picks: Picks
) -> Iterator[Ledger]:
    """Trades of each step in a window.

    Where orders rest or reverse, steps with equal genes are one: their orders stand on at its
    borders. Those of other genes end where orders of the next step may stand.
    """
    last: Trade | None = None
    stands = reference.spec.entry is not None or reference.spec.reverse

    def name_genes(step: int) -> object:
        pick = picks[step]
        return step if pick is None or not stands else pick.tobytes()

    for _, some in groupby(range(len(picks)), name_genes):
        steps = list(some)
        pick, start, stop = picks[steps[0]], cuts[steps[0]], cuts[steps[-1] + 1]
        part = _empty_ledger()
        if pick is not None and start < stop:
            step_window = replace(window, start=start)
            part = _trade_step(reference, pick, step_window, stop, last)
        if len(part):
            last = part.trade(len(part) - 1)
        entered = np.searchsorted(cuts[steps[0] + 1 : steps[-1] + 1], part.signal_bar, side="right")
        # What is counted beside trades belongs to the first of them.
        counts: Any = {name: getattr(part, name) for name in COUNTS}
        yield replace(part.keep(entered == 0), **counts)
        for number in range(1, len(steps)):
            yield part.keep(entered == number)


def _trade_step(
    reference: Reference, pick: Floats, window: Window, stop: int, last: Trade | None
) -> Ledger:
    """Trades of a pick whose signals count before bar `stop`.

    While one of them is open its own genes may reverse it; the trade that would begin is not taken.
    """
    part = reference.continue_trades(pick, window, stop, last)
    known, counts = stop, {name: getattr(part, name) for name in COUNTS}
    while reference.spec.reverse and len(part) and part.exit_bar[-1] > known < window.end:
        known = min(known + 2 * (known - window.start), window.end)
        longer = reference.continue_trades(pick, window, known, last)
        kept: Any = longer.keep(np.arange(len(longer)) < len(part))
        part = replace(kept, **counts)
    return part


def _share_account(
    reference: Reference, windows: Sequence[Window], borders: Sequence[Sequence[int]], picks: Picks
) -> list[list[Ledger]]:
    """Trades of each step [K] in each window [W] that one account with limits has room for."""
    by_step = [[_empty_ledger() for _ in picks] for _ in windows]
    asks, window_steps = [], []
    for number, (window, cuts) in enumerate(zip(windows, borders, strict=True)):
        for step, (pick, (start, stop)) in enumerate(zip(picks, pairwise(cuts), strict=True)):
            if pick is None or start == stop:
                continue
            asking = reference.ask_until(pick, replace(window, start=start), stop)
            # A position ends with its window, and runs on over a border within it.
            asks.append(asking._replace(continues=start > window.start))
            window_steps.append((number, step))
    taken = take_account(asks, build_limits(reference.costs))
    for (number, step), ledger in zip(window_steps, taken, strict=True):
        by_step[number][step] = ledger
    return by_step


def join_ledgers(parts: Sequence[Ledger]) -> Ledger:
    """Ledgers one after the other."""
    # Ledgers with trades show how many targets they have; the others have none of these columns.
    some = [part for part in parts if len(part)] or [_empty_ledger()]
    joined: Any = {
        name: np.concatenate([part.columns()[name] for part in some]) for name in some[0].columns()
    }
    totals = {name: sum(getattr(part, name) for part in parts) for name in COUNTS}
    return Ledger(**joined, **totals)


def _empty_ledger() -> Ledger:
    whole, prices, small = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int8)
    return Ledger(
        whole, whole, whole, small, prices, prices, prices, prices, prices, small, prices, whole
    )
