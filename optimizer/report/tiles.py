"""The few numbers of the pick that a reader looks for first."""

from dataclasses import dataclass

from optimizer.formatting import fraction, metric
from optimizer.report.orders import list_order_numbers
from optimizer.report.tables import Tables
from optimizer.store.caveats import describe_return
from optimizer.store.result import Member
from strategy.pretty_print import format_tree

CHOSEN = (
    "Not what to expect: these are the bars that were searched, where every result is chosen to "
    "look good."
)
"""Heading above the numbers of a search's pick."""


@dataclass(frozen=True)
class Tile:
    """One number with its name, and what puts it in proportion."""

    name: str
    value: str
    note: str
    sign: str = ""  # ``gain`` or ``loss`` where the number is one, else empty


def describe_tiles(run: Tables) -> str:
    """Heading above the numbers: which bars they are of, and how much R is."""
    share = run.header.costs.get("risk_fraction")
    risk = f"R is what a trade puts at risk, {fraction(share)} of the account." if share else ""
    if not run.bars_problem and run.task.spec.account is not None:
        risk = f"R is what a trade puts at risk; its size is {format_tree(run.task.spec.account)}."
    return " ".join(filter(None, (CHOSEN if run.is_search else "", risk)))


def list_tiles(run: Tables) -> list[Tile]:
    """Numbers of the pick on the searched bars; none of an empty front."""
    if not run.members:
        return []
    pick = 0 if run.pick is None else run.pick.member
    member = run.members[pick]
    orders = _list_order_tiles(run, pick)
    tiles = [
        _growth(member),
        _drawdown(member),
        _trades(member),
        _exposure(member),
        # An account sizes trades by its own rule, and has a tile below.
        None if any(tile.name.startswith("Leverage") for tile in orders) else _leverage(member),
        _against_hold(member),
        *orders,
    ]
    return [tile for tile in tiles if tile is not None]


def _list_order_tiles(run: Tables, pick: int) -> list[Tile]:
    """Numbers of orders, ladders and money; none of a strategy without, or without its bars."""
    if run.bars_problem or not run.task.spec.has_orders:
        return []
    return [Tile(*parts) for parts in list_order_numbers(run, pick)]


def _value(member: Member, name: str) -> float | None:
    return member.metrics.get(name, member.objectives.get(name))


def _text(member: Member, name: str) -> str:
    return metric(name, _value(member, name))


def _sign(value: float | None) -> str:
    return "" if not value else "gain" if value > 0 else "loss"


def _growth(member: Member) -> Tile:
    total, beside = _text(member, "total_return"), describe_return(member)
    beside = beside and f"; {beside}"
    if _value(member, "cagr") is None:
        return Tile("Return", total, f"in all{beside}", _sign(_value(member, "total_return")))
    growth = _value(member, "cagr")
    return Tile("Return a year", _text(member, "cagr"), f"{total} in all{beside}", _sign(growth))


def _drawdown(member: Member) -> Tile:
    marked = _value(member, "max_drawdown_marked")
    note = (
        "between closed trades"
        if marked is None
        else f"{fraction(marked)} with open positions, by bar closes"
    )
    return Tile("Deepest drawdown", _text(member, "max_drawdown"), note)


def _trades(member: Member) -> Tile:
    note = f"{_text(member, 'win_rate')} of them gain, {_text(member, 'mean_r')} R a trade"
    return Tile("Trades", _text(member, "trades"), note)


def _exposure(member: Member) -> Tile:
    note = f"{_text(member, 'mean_hold_bars')} bars a trade"
    return Tile("In the market", _text(member, "exposure"), note)


def _leverage(member: Member) -> Tile | None:
    if _value(member, "median_leverage") is None:
        return None
    note = f"at most {_text(member, 'max_leverage')} times the account"
    return Tile("Position, median", f"{_text(member, 'median_leverage')} x", note)


def _against_hold(member: Member) -> Tile | None:
    total_return, hold = _value(member, "total_return"), _value(member, "buy_and_hold")
    if total_return is None or hold is None:
        return None
    points, made = f"{100 * (total_return - hold):+,.1f}", f"points; holding made {fraction(hold)}"
    return Tile("Against buy and hold", points, made, _sign(total_return - hold))
