"""Orders, ladders and money of a pick: numbers and facts, where its strategy has them."""

from collections.abc import Iterator

import numpy as np

from optimizer.formatting import number
from optimizer.report.tables import Tables
from optimizer.report.trades import PAYMENTS
from optimizer.run.trade_details import OrderCounts, count_orders, list_details
from optimizer.search.generation import Floats
from strategy.model import Strategy
from strategy.pretty_print import format_tree

Fact = tuple[str, str]
"""Name and value."""


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


def list_order_numbers(run: Tables, member: int) -> Iterator[tuple[str, str, str]]:
    """Name, value and note of each number of a pick's orders on the searched bars."""
    task, spec = run.task, run.task.spec
    (ledgers,) = run.engine.ledgers(run.genomes[[member]])
    places = task.markets.places("search")
    details = list_details(task, run.genomes[member], ledgers)
    columns = [details[place].columns for place in places]
    counts = count_orders(spec, [ledgers[place] for place in places])
    if spec.entry is not None:
        yield _describe_resting(counts)
    if spec.targets is not None:
        yield "Partial exits", number(counts.partials), "targets reached before the last exit"
    for name, title in PAYMENTS.items():
        if name in columns[0]:
            paid = float(np.concatenate([part[name] for part in columns]).sum())
            verb = "received" if paid < 0.0 else "paid"
            yield f"{title} {verb}", f"{number(abs(paid))} R", "over all trades"
    if spec.account is not None:
        yield _describe_leverage(np.concatenate([part["leverage"] for part in columns]))


def _describe_leverage(used: Floats) -> tuple[str, str, str]:
    note = f"median {number(float(np.median(used)))} of the account" if len(used) else "-"
    return "Leverage, at most", f"{number(float(used.max(initial=0.0)))} x", note


def _describe_resting(counts: OrderCounts) -> tuple[str, str, str]:
    note = f"{counts.filled:,} filled, {counts.expired:,} expired, replaced or cancelled"
    return "Resting orders", number(counts.placed), note
