"""Trades of one account in the order in which they change it, and its worth after each."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from data.checks import Floats, Ints
from engine.accounts.curves import compound
from engine.accounts.reference import (
    StakedTrades,
    Turns,
    add_trade,
    find_size,
    grow_cash,
    order_trades,
)
from engine.accounts.stake import SHARE_OF_R
from engine.accounts.valuation import choose_trades


@dataclass(frozen=True, eq=False)
class AccountTrades:
    """Trades of some windows [K] as an account sees them."""

    strand: Ints  # [K], number of the market
    entry_ns: Ints  # [K], when the entry bar opens
    exit_ns: Ints  # [K], when the exit bar opens
    closed_ns: Ints  # [K], when the exit bar closes
    over_ns: Ints  # [K], from when on the position is known to be over
    leverage: Floats  # [K], worth of the position over the account, at its entry
    r: Floats  # [K]
    trade: Floats  # [K], share of the position's worth that was gained
    side: Ints  # [K], 1 or -1
    place: Ints  # [K], among the trades of all windows, those of one behind those of another


@dataclass(frozen=True, eq=False)
class Folded(AccountTrades):
    """Trades of all windows in the order in which they change the account."""

    worth: Floats  # [K], of the account after each trade
    cash: float  # that it began with; 1 where one R is a share of equity
    unsized: float  # how many trades had no size
    # [K] where trades are sized from cash: units, and the account's equity when they were filled.
    units: Floats
    filled_at: Floats

    @property
    def equity(self) -> Floats:
        """Equity after each trade, from 1, [K]."""
        return self.worth / self.cash

    @property
    def changed_ns(self) -> Ints:
        """When each trade changes the account, [K] ascending: its exit bar opens, or a later one's.

        The latter where an earlier trade has an exit bar which opened after its own.
        """
        changed: Ints = np.maximum.accumulate(self.exit_ns)
        return changed

    def by_place(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values [K] of trades as these stand in all windows, those of one behind another's."""
        placed = np.empty_like(values)
        placed[self.place] = values
        return placed


def join_listed(listed: Sequence[AccountTrades]) -> AccountTrades:
    """Trades of several windows as one."""
    return AccountTrades(
        **{
            field.name: np.concatenate([getattr(trades, field.name) for trades in listed])
            for field in fields(AccountTrades)
        }
    )


def order_listed(listed: AccountTrades, *, is_staked: bool) -> Turns:
    """Turns in which trades change an account: at their ends, where it sizes them from cash.

    Else when their exit bars open.
    """
    changed_ns = listed.over_ns if is_staked else listed.exit_ns
    return order_trades(listed.strand, listed.entry_ns, listed.exit_ns, changed_ns)


def fold_plain(listed: AccountTrades, risk_fraction: float) -> Folded:
    """Trades with each R a share of equity."""
    columns = _choose(listed, order_listed(listed, is_staked=False).order)
    worth, none = compound(columns["r"], risk_fraction), np.empty(0)
    return Folded(**columns, worth=worth, cash=1.0, unsized=0.0, units=none, filled_at=none)


def fold_staked(listed: AccountTrades, staked: StakedTrades) -> Folded:
    """Trades that are sized from cash: once, when their orders are filled."""
    turns = order_listed(listed, is_staked=True)
    columns = _choose(listed, turns.order)
    staked, cash = choose_staked(staked, turns.order), staked.stakes[0].cash
    grown = grow_cash(staked, turns)
    has_cash, trades = grown.cash > 0.0, staked.trades
    units = np.where(has_cash & (grown.size > 0.0), grown.size, 0.0)
    worths = staked.weights[staked.owner] * units * _per_owner(staked, "worth") * trades.entry
    is_share = _per_owner(staked, "form") == SHARE_OF_R
    shares = np.where(has_cash & is_share, columns["leverage"], 0.0)
    columns["leverage"] = np.where(is_share, shares, worths / np.where(has_cash, grown.cash, 1.0))
    return Folded(
        **columns, worth=grown.worth, cash=cash, unsized=grown.unsized, units=units,
        filled_at=grown.cash / cash,
    )  # fmt: skip


def order_by_close(folded: Folded, staked: StakedTrades | None, risk_fraction: float) -> Folded:
    """The same account, changed by trades of the same sizes when their exit bars close."""
    order = np.lexsort((folded.strand, folded.exit_ns, folded.closed_ns))
    columns = _choose(folded, order)
    if staked is None:
        return replace(folded, **columns | {"worth": compound(columns["r"], risk_fraction)})
    staked, cash, worth = choose_staked(staked, columns["place"]), folded.cash, []
    for k, size in enumerate(columns["units"].tolist()):
        cash = add_trade(staked, cash, size, k)
        worth.append(cash)
    return replace(folded, **columns | {"worth": np.array(worth)})


def size_by_equity(folded: Folded, staked: StakedTrades) -> Floats:
    """Units of each trade by its place, [K], from equity at its fill, with which marks begin."""
    cash: Floats = folded.by_place(folded.filled_at) * folded.cash
    return np.array([
        find_size(staked.trades, staked.stakes[owner], cash[k], k)
        for k, owner in enumerate(staked.owner.tolist())
    ])  # fmt: skip


def choose_staked(staked: StakedTrades, chosen: Ints) -> StakedTrades:
    """Some trades, by their places [N]."""
    trades = choose_trades(staked.trades, chosen)
    return staked._replace(trades=trades, owner=staked.owner[chosen])


def _choose(trades: AccountTrades, order: Ints) -> dict[str, Any]:
    """Columns of trades, by name, in an order."""
    columns = {field.name: getattr(trades, field.name) for field in fields(trades)}
    return {
        name: column[order] if len(column) else column
        for name, column in columns.items()
        if isinstance(column, np.ndarray)
    }


def _per_owner(staked: StakedTrades, name: str) -> Floats:
    """A number of the stake of each trade, [K]."""
    return np.array([getattr(stake, name) for stake in staked.stakes], np.float64)[staked.owner]
