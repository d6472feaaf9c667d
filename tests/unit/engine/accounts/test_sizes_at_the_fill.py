"""Sizes of several symbols of one account: by hand, and against a list of events."""

import math
from dataclasses import replace

import numpy as np
import pytest

from data import Bars, Window
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.accounts.stake import build_stake
from engine.batch import Engine
from engine.replay.parity import compare_accumulators
from strategy import words as w
from strategy.exits import split_sides
from strategy.money import EquityShare, Notional, RiskOf, Units, Volatility
from strategy.rows import resolve_value
from tests.support.limited import DrawnAtMarket
from tests.support.random_strategies import Drawn
from tests.support.references import compiled_reference
from tests.support.worlds import draw_order_costs, make_bars

MINUTE_NS = 60 * 10**9

MINUTES = (60, 240, 1440)


def draw_world(seed):
    """A strategy that sizes from cash, two to four symbols whose bars differ, and costs.

    Every other one enters at the market by shares of the account, as limits ask it to.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = (Drawn if seed % 2 else DrawnAtMarket)(seed, higher=(1440, 10080))

    def with_account(drawn, arguments):
        arguments["account"] = drawn.account()
        return arguments if seed % 2 else drawn.without_resting(arguments)

    strategy = drawn.strategy(Drawn.with_orders, with_account)
    series, windows = [], []
    for number in range(int(rng.integers(2, 5))):
        minutes = MINUTES[(seed + number) % 3 if rng.random() < 0.7 else 0]
        bars = make_bars(seed + 7 * number, 16_000 // minutes + 40, gaps=0.02, jump=0.04)
        times = np.arange(len(bars)) + np.cumsum(rng.random(len(bars)) < 0.03)
        # Some open when no bar of the others does, and some a while before the last one's time.
        stamps = (times * minutes + rng.choice([0, 0, 15, 30])) * MINUTE_NS
        stamps -= np.where(rng.random(len(bars)) < 0.02, 20, 0) * MINUTE_NS
        columns = bars.open, bars.high, bars.low, bars.close, bars.volume
        stamps = stamps.astype(np.int64) + 10**9 * 86_400
        series.append(Bars(stamps, *columns, f"S{number}", timeframe_ns=minutes * MINUTE_NS))
        cut = int(rng.integers(len(bars) // 3, len(bars)))
        windows += [Window(number, 0, cut), Window(number, cut, len(bars))]
    chosen = [windows[place] for place in rng.permutation(len(windows))]
    return strategy, series, chosen, draw_order_costs(seed, strategy)


class CashAccount:
    """An account that hears of fills and of ends of trades, one after another."""

    def __init__(self, strategy, genome, costs):
        genes = strategy.layout.decode(genome)
        self._stake, self._costs = strategy.account.stake, costs
        (_, setting), *_ = self._stake.settings
        self._number = resolve_value(setting, genes)
        limit = strategy.account.leverage
        self._limit = math.inf if limit is None else resolve_value(limit, genes)
        market = strategy.market
        self._point = 1.0 if market is None else resolve_value(market.multiplier, genes)
        lot = None if market is None else market.lot
        self._lot = None if lot is None else (1, 1) if lot == "1" else (1, 10)
        self.begun = self.cash = self.peak = resolve_value(strategy.account.cash, genes)
        self.unsized, self.fall, self.r = 0, 0.0, []
        self.by_symbol = {}

    def size(self, trade, cash):
        """Units."""
        k, entry, move = self._number, trade["entry"] * self._point, trade["scale"]
        q = {
            RiskOf: lambda: k * cash / (trade["risk"] * self._point),
            Notional: lambda: k / entry,
            EquityShare: lambda: k * cash / entry,
            Volatility: lambda: k * cash / (move * self._point) if move > 0 else 0.0,
            Units: lambda: k,
        }[type(self._stake)]()
        if self._limit < math.inf:
            q = min(q, self._limit * cash / entry)
        if self._lot:
            over, under = self._lot
            q = math.floor(q * under / over + 1e-9) * over / under
        return q

    def after(self, cash, trade):
        """Cash after a trade."""
        q, costs = trade["units"], self._costs
        if not q > 0:
            return max(cash, 0.0)
        money = q * self._point
        gain = money * (trade["r"] * trade["risk"])
        if costs.fee_min > 0:
            short = 0.0
            for share, price in [(None, trade["entry"]), *trade["fills"]]:
                fee = money * (costs.fee_bp / 10000 * price) + q * costs.fee_unit
                short += max(0.0, costs.fee_min - (fee if share is None else share * fee))
            gain = gain - short
        if trade["reason"] == "margin":
            gain = -cash
        return cash + gain if cash > 0 and cash + gain > 0 else 0.0

    def fill(self, symbol, trade):
        """An order was filled: what ended by it is known, of other symbols what is over."""
        cash, held = self.cash, self.by_symbol.setdefault(symbol, {})
        for earlier in held.values():
            cash = self.after(cash, earlier)
        trade["units"], trade["cash"] = self.size(trade, cash), cash
        held[trade["number"]] = trade
        self.unsized += not trade["units"] > 0

    def end(self, symbol, trade):
        """A trade is over."""
        del self.by_symbol[symbol][trade["number"]]
        self.cash = self.after(self.cash, trade)
        self.peak = max(self.peak, self.cash)
        self.fall = max(self.fall, (self.peak - self.cash) / self.peak)
        self.r.append((trade["r"], trade["side"]))

    def list_sums(self):
        """Sums by the names of accumulators."""
        r = [value for value, _ in self.r]
        gains, losses = [x for x in r if x > 0], [-x for x in r if not x > 0]
        return {
            "trades": len(r), "unsized": self.unsized, "max_drawdown": self.fall,
            "equity": self.cash / self.begun, "peak_equity": self.peak / self.begun,
            "sum_r": add_up(r), "sum_r2": add_up(x * x for x in r), "gain_r": add_up(gains),
            "loss_r": add_up(losses), "loss_r2": add_up(x * x for x in losses),
            "sum_r_short": add_up(x for x, side in self.r if side < 0),
        }  # fmt: skip


def add_up(values):
    """Sum, one addition a value."""
    total = 0.0
    for value in values:
        total += value
    return total


def list_trades(strategy, genome, series, windows, ledgers):
    """Trades of each symbol in the order of time, with what the account asks of each."""
    genes, by_symbol = strategy.layout.decode(genome), {}
    for place in sorted(range(len(windows)), key=lambda number: windows[number].start):
        bars, ledger = series[windows[place].series], ledgers[place]
        trades = by_symbol.setdefault(windows[place].series, [])
        for k in range(len(ledger)):
            trade = ledger.trade(k)
            leave, reason = trade.exit_bar, REASONS[trade.reason]
            closes = int(bars.timestamp[leave]) + bars.timeframe_ns
            if leave + 1 < len(bars):
                closes = min(closes, int(bars.timestamp[leave + 1]))
            opens = int(bars.timestamp[leave])
            is_at_open = trade.held == leave - trade.entry_bar
            if reason == "reverse":
                is_at_open = split_sides(strategy.entry)[int(trade.side > 0)] is None
            trades.append({
                "number": len(trades), "place": (place, k), "reason": reason, "r": trade.r,
                "side": trade.side, "entry": trade.entry,
                "risk": trade.side * (trade.entry - trade.stop),
                "scale": float(ledger.scale[k, 0]) if ledger.scale.shape[1] else math.nan,
                "fills": list(list_fills(strategy, genes, ledger, k)),
                "filled": int(bars.timestamp[trade.entry_bar]), "opens": opens,
                "over": opens if is_at_open else closes,
            })  # fmt: skip
    return by_symbol


def list_fills(strategy, genes, ledger, k):
    """Shares and prices at which a trade leaves; the share is None where all does."""
    ladder = split_sides(strategy.targets)[int(ledger.side[k] < 0)]
    if ladder is None:
        yield 1.0, float(ledger.exit[k])
        return
    rest = 1.0
    for number, leg in enumerate(ladder.legs):
        share = resolve_value(leg.share, genes)
        rest -= share
        reached = ledger.leg_bar[k, number] >= 0
        yield share, float(ledger.leg_price[k, number] if reached else ledger.exit[k])
    if rest > 1e-9:
        yield rest, float(ledger.exit[k])


def simulate(strategy, genome, series, windows, costs, ledgers):
    """The account, and its trades by window and number; one event after another."""
    account, events, by_place = CashAccount(strategy, genome, costs), [], {}
    for symbol, trades in list_trades(strategy, genome, series, windows, ledgers).items():
        for trade in trades:
            by_place[trade["place"]] = trade
            turn = trade["opens"], symbol, trade["number"]
            events.append((trade["over"], 0, *turn, True, trade))
            # At one moment trades end before orders are filled, but for one that ends at its fill.
            lasts = trade["filled"] < trade["over"]
            events.append((trade["filled"], int(lasts), *turn, False, trade))
    events.sort(key=lambda event: event[:6])
    for *_, symbol, _, is_end, trade in events:
        (account.end if is_end else account.fill)(symbol, trade)
    return account, by_place


HOUR_NS = 3_600 * 10**9
FREE = Costs(fee_bp=0.0, slippage_bp=0.0)


def market(*bars, symbol, hours=1, begins=0):
    """Bars of (open, close) after one that only signals; they last so many hours."""
    first, last = np.array([(100, 100), *bars], np.float64).T
    columns = first, np.maximum(first, last), np.minimum(first, last), last
    times = (begins + hours * np.arange(len(first))) * HOUR_NS
    return Bars(times, *columns, np.ones(len(first)), symbol, timeframe_ns=hours * HOUR_NS)


def fold(spec, series, windows, costs):
    """Ledgers, sums by name once all forms agree, and the account with its folded trades."""
    genome = spec.layout.defaults
    reference = compiled_reference(spec, series, windows, costs)
    ledgers = reference.trades(genome)
    sums = reference.account(ledgers, range(len(windows)), genome)
    engine = Engine(spec, series, windows, costs, device="cpu")
    assert compare_accumulators(sums, engine.evaluate_account(genome[None])[1][0]) == ""
    names = tuple(series[window.series].symbol for window in windows)
    stakes = (build_stake(spec, costs, spec.layout.decode(genome)),) * len(windows)
    account = Account(tuple(series), tuple(windows), names, costs, stakes=stakes)
    folded = account.fold(ledgers)
    named = {name: sums[place].item() for name, place in ACCUMULATOR_INDEX.items()}
    assert not len(folded.r) or folded.equity[-1] == named["equity"]
    return ledgers, named, account, folded


def measure(series, size, costs=FREE, **parts):
    """Sums, the account's numbers, its folded trades, and units by symbol and hour of the fill."""
    arguments = {"long": w.close > 0, "stop": w.share(0.5), "max_hold": 1, **parts}
    spec = w.strategy("Buys.", account=w.account(1000, size), **arguments)
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    ledgers, named, account, folded = fold(spec, series, windows, costs)
    places = zip(folded.strand.tolist(), (folded.entry_ns // HOUR_NS).tolist(), strict=True)
    filled = dict(zip(places, folded.units.tolist(), strict=True))
    return named, account.measure(ledgers)[0], folded, filled


TOGETHER = [market((100, 110), symbol=name) for name in "AB"]
"""Two symbols, both bought at 100 at one moment, both sold at 110 at one moment."""


def test_orders_filled_together_are_sized_from_the_same_cash():
    """By hand: 10 units each of 1,000, a fifth is gained, both are worth twice the account."""
    sums, measured, folded, _ = measure(TOGETHER, w.equity_share(1))
    assert folded.units.tolist() == [10.0, 10.0]
    assert folded.leverage.tolist() == [1.0, 1.0]
    assert folded.worth.tolist() == [1100.0, 1200.0]
    assert sums["equity"] == 1.2
    assert measured["max_leverage"] == 2.0
    limited, *_ = measure(TOGETHER, w.equity_share(1), replace(FREE, max_leverage=1.0))
    assert (limited["trades"], limited["skipped"], limited["equity"]) == (1.0, 1.0, 1.1)


def test_a_trade_counts_once_its_exit_bar_is_over():
    """Four hours that gain a tenth are not known to an hour that is filled within them."""
    slow = market((100, 110), (100, 100), symbol="SLOW", hours=4)
    hours = [(100, 100)] * 4 + [(100, 120), (100, 100), (100, 100), (100, 90)]
    quick = market(*hours, symbol="QUICK")
    _, measured, folded, filled = measure([slow, quick], w.equity_share(1))
    assert (filled[0, 4], filled[1, 5]) == (10.0, 10.0)
    # 200 of the hour are known at 6:00; the four hours' 100 at 8:00, when the last one is filled.
    # Trades are folded when they are over: of those at 8:00 that comes first which left earlier.
    assert (filled[1, 7], filled[1, 8]) == (12.0, 13.0)
    assert folded.worth[-3:].tolist() == [1300.0, 1170.0, 1170.0]
    # At 7:00, with four hours at cost as of their last close.
    assert measured["max_drawdown_marked"] == pytest.approx(0.1)


def test_an_exit_at_the_open_is_known_at_that_open():
    """What leaves by its condition at 103 pays for what is filled there; a time exit does not."""
    leaves = market((100, 110), (103, 103), (103, 103), symbol="A")
    waits = market((100, 100), (100, 100), (100, 100), symbol="B")
    parts = {"exit_long": w.close > 105, "max_hold": 2}
    *_, filled = measure([leaves, waits], w.equity_share(1), **parts)
    assert (filled[1, 1], filled[1, 3]) == (10.0, 10.3)


@pytest.mark.parametrize("seed", range(12))
def test_drawn_accounts_are_their_list_of_events(seed):
    """Hours, four hours and days across each other; all forms of size, lots, least fees, limits."""
    strategy, series, windows, costs = draw_world(seed)
    genome = strategy.layout.defaults
    for limits in ({}, {"max_positions": 2}) if can_limit(strategy) else ({},):
        charged = replace(costs, **limits)
        ledgers, sums, _, folded = fold(strategy, series, windows, charged)
        expected, trades = simulate(strategy, genome, series, windows, charged, ledgers)
        named = expected.list_sums()
        assert {name: sums[name] for name in named} == named
        places = [(number, k) for number, one in enumerate(ledgers) for k in range(len(one))]
        units = [max(trades[place]["units"], 0.0) * (trades[place]["cash"] > 0) for place in places]
        assert folded.by_place(folded.units).tolist() == units


def can_limit(strategy):
    """Whether signals of a strategy may ask for room."""
    rests = strategy.entry is not None or strategy.reverse
    return not rests and strategy.account.stake.written not in ("notional", "units")
