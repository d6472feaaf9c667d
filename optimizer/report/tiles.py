"""The few numbers of the pick that a reader looks for first."""

from collections.abc import Iterator
from dataclasses import dataclass

from optimizer.evidence.schedule import ScheduleRecord
from optimizer.formatting import fraction, metric, number
from optimizer.report.account import match_hold
from optimizer.report.orders import list_order_numbers
from optimizer.report.schedule import build_schedule_account, find_schedule
from optimizer.report.tables import Tables
from optimizer.store.caveats import describe_gone, describe_return
from optimizer.store.result import Member
from strategy.pretty_print import format_tree

CHOSEN = (
    "Not what to expect: these are the bars that were searched, where every result is chosen to "
    "look good."
)
"""Heading above the numbers of a search's pick."""

STITCHED = "Each step traded on the bars after its search, which that had not seen."
"""The same of a run with a schedule."""


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
    about = CHOSEN if find_schedule(run) is None else STITCHED
    return " ".join(filter(None, (about if run.is_search else "", risk)))


def list_tiles(run: Tables) -> list[Tile]:
    """Numbers of the pick on the searched bars, or of a schedule's account; none of no front."""
    made = find_schedule(run)
    if made is not None:
        return list(_list_stitched(run, made))
    if not run.members:
        return []
    pick = 0 if run.pick is None else run.pick.member
    member = run.members[pick]
    orders = _list_order_tiles(run, pick)
    tiles = [
        _growth(_value(member, "total_return"), _value(member, "cagr"), describe_return(member)),
        _drawdown(member),
        _trades(member),
        _build_expected(run, pick),
        _exposure(member),
        # An account sizes trades by its own rule, and has a tile below.
        None if any(tile.name.startswith("Leverage") for tile in orders) else _leverage(member),
        _against_hold(member),
        *orders,
    ]
    return [tile for tile in tiles if tile is not None]


def _list_stitched(run: Tables, made: ScheduleRecord) -> Iterator[Tile]:
    """Numbers of the account of all steps, as they are recorded."""
    total, judgement = made.equity - 1.0, run.judgement
    growth = judgement.answer.cagr if judgement and judgement.answer else None
    beside = describe_gone(made.gone) if made.gone else ""
    yield _growth(total, growth, beside)
    yield Tile("Deepest drawdown", fraction(made.max_drawdown), "between closed trades")
    note = f"{made.format('mean_r')} R a trade, strength {made.format('strength')}"
    yield Tile("Trades", number(made.trades), note)
    changed = "" if made.changed is None else f"the pick changed at {made.changed:.0%} of dates"
    yield Tile("Steps", number(len(made.rows)), changed)
    if not run.bars_problem:
        stitched = build_schedule_account(run)
        hold, ends = match_hold(stitched.holding, stitched.curve)
        if hold is not None:
            yield _compare_with_hold(total, float(hold.value[-1]) - 1.0, ends - 1.0)


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


def _growth(total: float | None, growth: float | None, beside: str) -> Tile:
    made, beside = metric("total_return", total), beside and f"; {beside}"
    if growth is None:
        return Tile("Return", made, f"in all{beside}", _sign(total))
    return Tile("Return a year", metric("cagr", growth), f"{made} in all{beside}", _sign(growth))


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


def _build_expected(run: Tables, pick: int) -> Tile | None:
    expected = run.expect(pick)
    if expected is None:
        return None
    year = "" if expected.year is None else f"; {expected.year.headline}, {expected.year.range}"
    note = f"{expected.range} in eight of ten cases{year}"
    return Tile("Expected", expected.headline, note, _sign(expected.mean))


def _exposure(member: Member) -> Tile:
    note = f"{_text(member, 'mean_hold_bars')} bars a trade"
    return Tile("In the market", _text(member, "exposure"), note)


def _leverage(member: Member) -> Tile | None:
    if _value(member, "median_leverage") is None:
        return None
    note = f"at most {_text(member, 'max_leverage')} times the account"
    return Tile("Position, median", f"{_text(member, 'median_leverage')} x", note)


def _against_hold(member: Member) -> Tile | None:
    names = "total_return", "hold_at_equal_volatility", "buy_and_hold"
    total_return, hold, raw = (_value(member, name) for name in names)
    if total_return is None or hold is None or raw is None:
        return None
    return _compare_with_hold(total_return, hold, raw)


def _compare_with_hold(total_return: float, hold: float, raw: float) -> Tile:
    """Return beside that of holding at the same volatility; unscaled as small print."""
    points = f"{100 * (total_return - hold):+,.1f}"
    note = f"points at equal volatility: holding made {fraction(hold)} ({fraction(raw)} unscaled)"
    return Tile("Against buy and hold", points, note, _sign(total_return - hold))
