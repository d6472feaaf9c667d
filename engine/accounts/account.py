"""The account of one candidate, from its ledgers: what accumulators do not tell.

All trades of all windows are folded once: by when their exit bars open, markets in their order; or
where an account sizes them from cash, by when they are over.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from data.checks import Flags, Floats, Ints
from data.timeframe import UNITS_NS
from engine.accounts.costs import Costs
from engine.accounts.curves import (
    add_up,
    compound,
    find_runs,
    find_scale,
    hold_by_day,
    hold_values,
    longest_run,
    measure_falls,
    scale_hold,
)
from engine.accounts.ledger import REASONS, Ledger
from engine.accounts.metrics import FEWEST_DAYS, LEAST_VARIATION, measure_span, pool_spans
from engine.accounts.reference import (
    StakedTrades,
    Turns,
    add_trade,
    find_end_times,
    find_leverage,
    find_size,
    grow_cash,
    order_trades,
    size_trades,
)
from engine.accounts.stake import SHARE_OF_R, Stake, plain_stake
from engine.accounts.valuation import (
    Marks,
    TradeTerms,
    add_gains,
    choose_trades,
    close_trades,
    join_marks,
    measure_gross,
    plain_terms,
    reprice_trades,
    stake_ledgers,
)


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


ACCOUNT_METRICS = (
    "best_r",
    "worst_r",
    "median_r",
    "tail_r",
    "mean_trade",
    "losing_streak",
    "fewest_a_month",
    "trades_long",
    "trades_short",
    "sum_r_long",
    "sum_r_short",
    "median_leverage",
    "max_leverage",
    "max_drawdown_marked",
    "under_water_days",
    "sharpe_daily",
    "sortino_daily",
    "ulcer",
    "buy_and_hold",
    "hold_at_equal_volatility",
    "rejected",
    "skipped",
)
"""Names of an account's numbers, in order."""

UNSIZED = "unsized"
"""One more of an account that sizes trades from cash."""

MOST_MARKED = 1_000_000
"""Markets times bars, above which an account of several is not marked at closes."""

MOST_MARKED_FROM_CASH = 16 * MOST_MARKED
"""The same of an account that sizes its trades from cash, and so may be gone at a close."""

SIGNAL_EXIT = REASONS.index("signal")

TAIL = 20
"""One trade in so many is worse than the tail."""

OF_BARS = ("strands", "days", "years", "buy_and_hold", "hold_days")
"""Properties of an account that follow from bars, windows and costs."""


@dataclass(frozen=True)
class Account:
    """Windows with the trades of one account."""

    series: tuple[Bars, ...]  # [S] that windows refer to
    windows: tuple[Window, ...]  # [W], those of one market in the order of time
    markets: tuple[str, ...]  # [W], with the bars of each window; each is a strand
    costs: Costs  # what trades cost, and what share of the account one R is
    # [W] the account's share of each window's trades, all where it is empty; and their
    # costs, where strategies of several costs make one account.
    weights: tuple[float, ...] = ()
    charges: tuple[Costs, ...] = ()
    # [W] further payments and exits of the trades of each window, if any. And how
    # these are sized from one cash; empty where one R is a share of equity.
    terms: tuple[TradeTerms, ...] = ()
    stakes: tuple[Stake, ...] = ()

    @cached_property
    def strands(self) -> Ints:
        """Number of each window's market, [W], in the order of series."""
        of_series = sorted(zip((w.series for w in self.windows), self.markets, strict=True))
        strand_of = {name: k for k, name in enumerate(dict.fromkeys(name for _, name in of_series))}
        return np.array([strand_of[name] for name in self.markets], np.int64)

    @property
    def n_strands(self) -> int:
        """How many markets there are."""
        return int(self.strands.max()) + 1

    @cached_property
    def is_marked(self) -> bool:
        """True if marking its trades takes no longer than all else."""
        bars = sum(map(len, self.windows))
        most = MOST_MARKED_FROM_CASH if self.stakes else MOST_MARKED
        return self.n_strands == 1 or self.n_strands * bars <= most

    @cached_property
    def days(self) -> Ints:
        """UTC dates on which a window has a bar, [D] days since 1970."""
        dates = [np.unique(self._times(window) // UNITS_NS["d"]) for window in self.windows]
        return np.unique(np.concatenate(dates))

    @cached_property
    def years(self) -> float:
        """Length of the union of all windows' times, in years."""
        return pool_spans(
            [measure_span(self.series[window.series], window) for window in self.windows]
        ).years

    @cached_property
    def buy_and_hold(self) -> float:
        """Return of buying each market at its first close, by `hold_values`; their mean."""
        values = np.ones(self.n_strands)
        for window, strand in zip(self.windows, self.strands, strict=True):
            last = np.array([window.end - 1])
            values[strand] *= hold_values(self.series[window.series], window, last, self.costs)[0]
        return float(values.mean()) - 1.0

    @cached_property
    def hold_days(self) -> Floats:
        """Equity of buying and holding at the end of each day with bars, [D], by `hold_by_day`."""
        return hold_by_day(self.series, self.windows, self.strands, self.days, self.costs)

    def with_terms(
        self, terms: tuple[TradeTerms, ...], stakes: tuple[Stake, ...] = ()
    ) -> "Account":
        """The account of other terms and stakes, with all that follows from bars alone."""
        account = replace(self, terms=terms, stakes=stakes)
        account.__dict__.update({name: getattr(self, name) for name in OF_BARS})
        return account

    def fold(self, ledgers: Sequence[Ledger]) -> Folded:
        """Ledgers [W] as one account."""
        listed = self._list_all(ledgers)
        if not self.stakes:
            return fold_plain(listed, self.costs.risk_fraction)
        return fold_staked(listed, self._stake(ledgers))

    def fold_by_close(self, ledgers: Sequence[Ledger]) -> Folded:
        """The same; trades of the same sizes change the account when their exit bars close."""
        staked = self._stake(ledgers) if self.stakes else None
        return order_by_close(self.fold(ledgers), staked, self.costs.risk_fraction)

    def _list_all(self, ledgers: Sequence[Ledger]) -> AccountTrades:
        """Trades of all windows, one behind the other."""
        begins = np.cumsum([0, *map(len, ledgers)]).tolist()
        return join_listed(list(map(self._list, range(len(ledgers)), ledgers, begins)))

    def _stake(self, ledgers: Sequence[Ledger]) -> StakedTrades:
        """Trades of all windows, one behind the other, with the rules by which they are sized."""
        weights = np.array([self._weight(w) for w in range(len(ledgers))])
        return stake_ledgers(ledgers, self.stakes, weights)

    def reprice(self, ledgers: Sequence[Ledger], per_side: float) -> Floats:
        """R of all trades [K] at other costs of a side, in the order in which they are folded."""
        return self.order_r(
            ledgers,
            [
                reprice_trades(ledger, per_side, self.find_terms(place))
                for place, ledger in enumerate(ledgers)
            ],
        )

    def order_r(self, ledgers: Sequence[Ledger], r_by_window: Sequence[Floats]) -> Floats:
        """R of each window's trades [W] at their weight, in the order in which they are folded."""
        order = order_listed(self._list_all(ledgers), is_staked=bool(self.stakes)).order
        parts = [self._weight(place) * r for place, r in enumerate(r_by_window)]
        return np.concatenate(parts)[order]

    def measure(self, ledgers: Sequence[Ledger]) -> tuple[dict[str, float], dict[str, str]]:
        """Numbers of `ACCOUNT_METRICS` by name, and why the others are undefined.

        - best_r, worst_r; mean_trade: mean gain of a trade over its position's worth.
        - losing_streak: most trades in a row with r <= 0.
        - median_leverage, max_leverage: worth of a position over the account at its entry, in
          max_leverage with all that other markets have open then.
        - max_drawdown_marked: deepest fall at closes of bars, with each open position as if it
          were closed there, costs included.
        - under_water_days: calendar days from the first to the last of the longest run of days
          that end below the highest end before.
        - sharpe_daily, sortino_daily, ulcer: of the ends of days with bars, a year of as many days
          as there are on the mean; after Sharpe (1994), Sortino and Price (1994), Martin and
          McCann (1989). ulcer is the root of the mean of squared falls.
        - buy_and_hold: return of the bars themselves; hold_at_equal_volatility: with so much of
          the account in them that its days vary as much as those of the trades.
        - median_r, tail_r: the middle r, and the r with a twentieth of the trades below it.
        - fewest_a_month: fewest trades of a calendar month, UTC, that has a bar.
        - rejected: signals that risked too little; skipped: signals for which an account with
          limits had no room. unsized: trades that were too small for an account that sizes them
          from cash, and are not there without.
        """
        # What overflows is found by what comes of it.
        with np.errstate(over="ignore", invalid="ignore"):
            values, why = self._measure(ledgers)
        beyond = {name for name, value in values.items() if not np.isfinite(value)}
        named = {name: value for name, value in values.items() if name not in beyond}
        return named, why | dict.fromkeys(sorted(beyond), "overflow")

    def _measure(self, ledgers: Sequence[Ledger]) -> tuple[dict[str, float], dict[str, str]]:
        """The same, infinity or NaN where a number is too large."""
        folded = self.fold(ledgers)
        named = {
            "trades_long": float((folded.side > 0).sum()),
            "trades_short": float((folded.side < 0).sum()),
            "sum_r_long": add_up(folded.r[folded.side > 0]),
            "sum_r_short": add_up(folded.r[folded.side < 0]),
            "losing_streak": float(longest_run(~(folded.r > 0.0))),
            "fewest_a_month": float(self._count_by_month(folded).min()),
            "buy_and_hold": self.buy_and_hold,
            "rejected": float(sum(ledger.rejected for ledger in ledgers)),
            "skipped": float(sum(ledger.skipped for ledger in ledgers)),
        }
        if self.stakes:
            named[UNSIZED] = folded.unsized
        if not len(folded.r):
            absent = (
                "best_r", "worst_r", "median_r", "tail_r", "mean_trade", "median_leverage",
                "max_leverage",
            )  # fmt: skip
            why = dict.fromkeys(absent, "no_trades")
        else:
            why = {}
            named |= {
                "best_r": float(folded.r.max()),
                "worst_r": float(folded.r.min()),
                "median_r": float(np.median(folded.r)),
                "tail_r": float(np.sort(folded.r)[(len(folded.r) - 1) // TAIL]),
                "mean_trade": add_up(folded.trade) / len(folded.r),
                "median_leverage": float(np.median(folded.leverage)),
                "max_leverage": self._find_max_leverage(ledgers, folded),
            }
        if self.is_marked:
            _, marked = self.mark(ledgers, folded)
            named["max_drawdown_marked"] = float(measure_falls(marked).max(initial=0.0))
        else:
            why["max_drawdown_marked"] = "several_symbols"
        by_day, why_days = self._daily(folded)
        hold, why_hold = self._match_hold(self.day_ends(folded))
        return named | by_day | hold, why | why_days | why_hold

    def _count_by_month(self, folded: Folded) -> Ints:
        """Trades that changed the account in each calendar month with bars."""
        dates = self.days, folded.changed_ns // UNITS_NS["d"]
        months, changed = (date.astype("datetime64[D]").astype("datetime64[M]") for date in dates)
        distinct = np.unique(months)
        return np.bincount(np.searchsorted(distinct, changed), minlength=len(distinct))

    def _find_max_leverage(self, ledgers: Sequence[Ledger], folded: Folded) -> float:
        """The greatest worth of all that is open over the account, at an entry."""
        if not ledgers[0].gross.shape[1]:
            columns = folded.strand, folded.entry_ns, folded.over_ns, folded.leverage
            return float(measure_gross(*columns).max())
        # An account with limits has noted it, in the order in which they asked.
        return max(
            float((ledger.gross[:, 0] + self._list_asked(number, ledger)).max(initial=0.0))
            for number, ledger in enumerate(ledgers)
        )

    def _list_asked(self, place: int, ledger: Ledger) -> Floats:
        """Leverage of each trade as limits look at it, [K]."""
        if not self.stakes:
            return self._list(place, ledger).leverage
        trades, stake, weight = size_trades(ledger), self.stakes[place], self._weight(place)
        return np.array([find_leverage(trades, stake, k, weight) for k in range(len(ledger))])

    def _daily(self, folded: Folded) -> tuple[dict[str, float], dict[str, str]]:
        """Ratios and falls of the account at the ends of days."""
        ends = self.day_ends(folded)
        falls = measure_falls(ends)
        measures = {"under_water_days": float(self._longest_fall(falls > 0.0))}
        if len(ends) and not ends[-1] > 0.0:
            return measures, dict.fromkeys(("sharpe_daily", "sortino_daily", "ulcer"), "ruined")
        count = len(self.days)
        # A stretch of days without a trade is one addition.
        begins = np.unique(np.searchsorted(self.days, folded.changed_ns // UNITS_NS["d"]))
        lengths = np.diff(np.append(begins, count))
        measures["ulcer"] = float(np.sqrt(add_up(lengths * falls[begins] ** 2) / count))
        if count < FEWEST_DAYS:
            return measures, dict.fromkeys(("sharpe_daily", "sortino_daily"), "few_days")
        before = np.concatenate([[1.0], ends[:-1]])
        changes = np.where(ends != before, ends / before - 1.0, 0.0)
        sum_q, sum_q2 = add_up(changes), add_up(changes * changes)
        loss_q2 = add_up(np.where(changes < 0.0, changes * changes, 0.0))
        variance = (sum_q2 - sum_q * sum_q / count) / (count - 1)
        if not variance > LEAST_VARIATION * (sum_q2 / count):
            return measures, dict.fromkeys(("sharpe_daily", "sortino_daily"), "no_variation")
        mean, periods = sum_q / count, np.sqrt(count / self.years)
        measures["sharpe_daily"] = float(mean / np.sqrt(variance) * periods)
        if not loss_q2 > LEAST_VARIATION * sum_q2:
            return measures, {"sortino_daily": "no_losses"}
        measures["sortino_daily"] = float(mean / np.sqrt(loss_q2 / count) * periods)
        return measures, {}

    def _match_hold(self, ends: Floats) -> tuple[dict[str, float], dict[str, str]]:
        """Return of holding at the volatility of the account, from its ends of days [D]."""
        name, scale = "hold_at_equal_volatility", find_scale(self.hold_days, ends)
        if not ends[-1] > 0.0:
            return {}, {name: "ruined"}
        if len(ends) < FEWEST_DAYS or np.isnan(scale):
            return {}, {name: "few_days" if len(ends) < FEWEST_DAYS else "no_variation"}
        return {name: float(scale_hold(self.hold_days, scale)[-1]) - 1.0}, {}

    def day_ends(self, folded: Folded) -> Floats:
        """Equity at the end of each day with bars, [D]."""
        date = folded.changed_ns // UNITS_NS["d"]
        count = np.searchsorted(date, self.days, side="right")
        return np.concatenate([[1.0], folded.equity])[count]

    def _longest_fall(self, is_below: Flags) -> int:
        """Calendar days from the first to the last of the longest run of days below the peak."""
        runs = self.days[find_runs(is_below) - [0, 1]]
        return int((runs[:, 1] - runs[:, 0]).max(initial=-1)) + 1

    def mark(self, ledgers: Sequence[Ledger], folded: Folded) -> tuple[Ints, Floats]:
        """Equity at closes of bars at which there is a position or one ends, as if all were closed.

        Returns:
            Times [T], ascending, nanoseconds UTC; and equity [T].
        """
        # Bars of several lengths close in another order than that in which trades are over.
        if (np.diff(folded.closed_ns) < 0).any():
            folded = self.fold_by_close(ledgers)
        stakes, units = (plain_stake(self.costs.risk_fraction),) * len(ledgers), folded.r
        if self.stakes:
            stakes, units = self.stakes, size_by_equity(folded, self._stake(ledgers))
        parts = np.split(units, np.cumsum(list(map(len, ledgers)))[:-1])
        marked = list(map(self._marks, range(len(ledgers)), ledgers, parts))
        by_strand = [np.flatnonzero(self.strands == k).tolist() for k in range(self.n_strands)]
        strands = [join_marks(marked[w] for w in some) for some in by_strand]
        times = np.concatenate([folded.closed_ns, *(closes for closes, *_ in strands)])
        # They stand in rising runs, which a stable sort joins faster than a hash.
        times.sort(kind="stable")
        times = times[np.append(True, times[1:] > times[:-1])[: len(times)]]
        count = np.searchsorted(folded.closed_ns, times, side="right")
        before = np.concatenate([[1.0], folded.equity])[count]
        value = before.copy()
        for (first, *_), (closes, ends, units, trades) in zip(by_strand, strands, strict=True):
            newest = np.searchsorted(closes, times, side="right") - 1
            is_open = newest >= 0
            is_open[is_open] = times[is_open] < ends[newest[is_open]]
            held = newest[is_open]
            some, stake = (
                choose_trades(trades, held),
                stakes[first]._replace(cash=folded.cash),
            )
            weight = self._weight(first)
            value[is_open] = add_gains(some, units[held], stake, value[is_open], weight)
        return times, np.where(before > 0.0, np.maximum(value, 0.0), 0.0) if self.stakes else value

    def _marks(self, place: int, ledger: Ledger, units: Floats) -> Marks:
        """Closes at which there is a position in a window, when it ends, and it closed at each."""
        bars = self.series[self.windows[place].series]
        held = ledger.exit_bar - ledger.entry_bar
        trade = np.repeat(np.arange(len(ledger)), held)
        begins = held.cumsum() - held
        bar = np.arange(len(trade)) - begins[trade] + ledger.entry_bar[trade]
        per_side = (self.charges[place] if self.charges else self.costs).per_side
        closed = close_trades(ledger, trade, bar, per_side, self.find_terms(place))
        return bars.over_ns[bar], bars.over_ns[ledger.exit_bar[trade]], units[trade], closed

    def _list(self, place: int, ledger: Ledger, first: int = 0) -> AccountTrades:
        """Trades of one window, with places from `first` on."""
        bars, weight = self.series[self.windows[place].series], self._weight(place)
        risk = ledger.side * (ledger.entry - ledger.stop)
        exits, closed = bars.timestamp[ledger.exit_bar], bars.over_ns[ledger.exit_bar]
        over = np.where(ledger.reason == SIGNAL_EXIT, exits, closed)
        if self.stakes:
            over = find_end_times(ledger, bars, self.stakes[place])
        return AccountTrades(
            strand=np.full(len(ledger), self.strands[place], np.int64),
            entry_ns=bars.timestamp[ledger.entry_bar],
            exit_ns=exits,
            closed_ns=closed,
            over_ns=over,
            leverage=self.costs.risk_fraction * weight * ledger.entry / risk,
            r=weight * ledger.r,
            trade=ledger.r * risk / ledger.entry,
            side=ledger.side.astype(np.int64),
            place=np.arange(first, first + len(ledger)),
        )

    def find_terms(self, place: int) -> TradeTerms:
        """Terms of a window's trades."""
        if self.terms:
            return self.terms[place]
        return plain_terms(self.series[self.windows[place].series].close)

    def _weight(self, place: int) -> float:
        """Weight of a window's trades in the account."""
        return self.weights[place] if self.weights else 1.0

    def _times(self, window: Window) -> Ints:
        return self.series[window.series].timestamp[window.start : window.end]
