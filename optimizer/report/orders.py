"""Orders, ladders and money of a pick: numbers and facts, where its strategy has them."""

from collections.abc import Iterator

import numpy as np

from engine.accounts.ledger import Ledger
from optimizer.report.tables import Tables
from optimizer.report.trades import PAYMENTS
from optimizer.run.trade_details import Details, OrderCounts, count_orders, list_details
from optimizer.search.generation import Floats
from optimizer.shown import format_count, number
from strategy.model import Strategy
from strategy.pretty_print import format_tree

Fact = tuple[str, str]


def describe_money(spec: Strategy) -> Iterator[Fact]:
    """Facts of a strategy's market, fills, payments and account, as its file states them."""
    market = spec.market
    if market is not None:
        tick = "" if market.tick is None else f"tick {market.tick}"
        lot = "" if market.lot is None else f"lot {market.lot}"
        point = f"a point is worth {format_tree(market.multiplier)}"
        yield "Symbol", ", ".join(filter(None, (tick, lot, point)))
    for name, part in (
        ("Slippage of fills", spec.slippage),
        ("Funding", spec.funding),
        ("Borrowing", spec.borrow),
        ("Account", spec.account),
    ):
        if part is not None:
            yield name, format_tree(part)


class OrderNumbers:
    """Numbers of a pick's orders on the searched bars, each with what it means."""

    def __init__(self, run: Tables, member: int) -> None:
        task, genome = run.task, run.genomes[member]
        (ledgers,) = run.engine.ledgers(run.genomes[[member]])
        in_search = task.markets.places("search")
        self._spec = task.spec
        self._ledgers: list[Ledger] = [ledgers[window] for window in in_search]
        details = list_details(task, genome, ledgers)
        self._details: list[Details] = [details[window] for window in in_search]

    def list_numbers(self) -> Iterator[tuple[str, str, str]]:
        """Name, value and note of each number that there is."""
        counts = count_orders(self._spec, self._ledgers)
        if self._spec.entry is not None:
            yield _describe_resting(counts)
        if self._spec.targets is not None:
            yield "Partial exits", number(counts.partials), "targets reached before the last exit"
        for name, title in PAYMENTS.items():
            if name in self._details[0].columns:
                paid = float(self._read(name).sum())
                verb = "received" if paid < 0.0 else "paid"
                yield f"{title} {verb}", f"{number(abs(paid))} R", "over all trades"
        if self._spec.account is not None:
            yield self._describe_leverage()

    def _describe_leverage(self) -> tuple[str, str, str]:
        used = self._read("leverage")
        unsized = int((used == 0.0).sum())
        note = f"median {number(float(np.median(used)))} of the account" if len(used) else "-"
        if unsized:
            note += f", {format_count(unsized, 'trade')} without a size"
        return "Leverage, at most", f"{number(float(used.max(initial=0.0)))} x", note

    def _read(self, name: str) -> Floats:
        column: Floats = np.concatenate([part.columns[name] for part in self._details])
        return column


def _describe_resting(counts: OrderCounts) -> tuple[str, str, str]:
    note = f"{counts.filled:,} filled, {counts.expired:,} expired, replaced or cancelled"
    return "Resting orders", number(counts.placed), note
