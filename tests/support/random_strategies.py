"""Random strategies in words: rows, nesting, conditions, sides and exits, from a seed."""

import numpy as np

from strategy import words as w
from strategy.words import strategy

COLUMNS = (w.open, w.high, w.low, w.close, w.volume, w.true_range, w.close_location, w.hl2)
WINDOWED = ("ema", "rma", "sma", "std", "wma", "highest", "lowest", "zscore", "rsi", "roc", "lag")
BARE = ("stoch", "atr", "plus_di", "minus_di", "adx")
OFFSETS = (0, 330, -300)


class Drawn:
    """Draws parts of a strategy; genes are named as they come."""

    def __init__(self, seed, higher=(60, 240)):
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.higher = higher
        self.genes = 0

    def chance(self, share):
        """Whether something happens that happens so often."""
        return self.rng.random() < share

    def pick_one(self, choices):
        """One of several."""
        return choices[int(self.rng.integers(len(choices)))]

    def length(self, least=2, most=12):
        """Bars: a constant or a gene."""
        value = int(self.rng.integers(least, most))
        if self.chance(0.5):
            return value
        self.genes += 1
        return w.length(f"n{self.genes}", value, least, most)

    def real(self, low, high):
        """A number: a constant or a gene."""
        value = float(np.round(self.rng.uniform(low, high), 3))
        if self.chance(0.5):
            return value
        self.genes += 1
        if self.chance(0.3):
            step = (high - low) / 8
            return w.gene(f"x{self.genes}", low + 3 * step, low, high, step=step)
        return w.gene(f"x{self.genes}", value, low, high)

    def chosen(self, *options):
        """One of several rows or indicators by a gene."""
        self.genes += 1
        return w.choice(f"c{self.genes}", *options)

    def price(self, depth=1):
        """A row that lies where prices lie."""
        kind = self.rng.integers(9)
        if kind == 7:
            return self.chosen(w.close, w.hl2, w.hlc3, w.highest(w.high, self.length()))
        if kind == 8:
            average = self.chosen(w.sma, w.ema, w.kama, w.dema)
            return average(w.close, self.length())
        if kind == 0 or depth == 0:
            return self.pick_one((w.open, w.high, w.low, w.close, w.hl2, w.hlc3, w.ohlc4))
        if kind == 1:
            return self.pick_one((w.vwap, w.vwap))(self.pick_one(OFFSETS))
        if kind == 2:
            side = self.pick_one((w.opening_high, w.opening_low))
            return side(int(self.rng.integers(15, 120)), self.pick_one(OFFSETS))
        if kind == 3:
            return w.swing_high(9, 2) if self.chance(0.5) else w.swing_low(7, 3)
        if kind == 4 and self.higher:
            return w.higher(self.pick_one(self.higher), self.pick_one((w.close, w.ema(w.close, 3))))
        if kind == 5:
            away = self.real(0.5, 3) * w.std(w.close, self.length())
            return w.sma(w.close, self.length()) + (away if self.chance(0.5) else -away)
        inner = self.price(depth - 1)
        return getattr(w, self.pick_one(("ema", "rma", "sma", "wma", "highest", "lowest", "lag")))(
            inner, self.length()
        )

    def row(self, depth=2):
        """Any row."""
        kind = self.rng.integers(9)
        if kind == 8 and depth:
            return self.chosen(w.atr, w.adx, w.stoch)(self.length())
        if kind == 0 or depth == 0:
            return self.pick_one(COLUMNS)
        if kind == 1:
            return getattr(w, self.pick_one(BARE))(self.length())
        if kind == 2:
            return self.pick_one((w.minute_of_day, w.day_of_week))(self.pick_one(OFFSETS))
        if kind == 3:
            return w.obv()
        if kind == 4:
            left, right = self.row(depth - 1), self.row(depth - 1)
            both = (left + right, left - right, left * right, left / right)
            return self.pick_one((*both, w.minimum(left, right), w.maximum(left, right), abs(left)))
        if kind == 5:
            return self.row(depth - 1) * self.real(-2, 2)
        return getattr(w, self.pick_one(WINDOWED))(self.row(depth - 1), self.length())

    def comparison(self):
        """A comparison that often holds and often does not."""
        if self.chance(0.3):
            left, right = self.price(), self.price()
        elif self.chance(0.5):
            left, right = w.rsi(self.row(1), self.length()), self.real(20, 80)
        else:
            left, right = w.zscore(self.row(1), self.length()), self.real(-1, 1)
        kind = self.rng.integers(6)
        if kind == 0:
            return w.crosses_above(left, right)
        if kind == 1:
            return w.crosses_below(left, right)
        return (left > right, left < right, left >= right, left <= right)[kind - 2]

    def condition(self, depth=2):
        """A condition of conditions."""
        kind = self.rng.integers(10) if depth else 0
        if kind > 7:
            self.genes += 1
            return w.switch(f"s{self.genes}", self.condition(depth - 1), default=bool(kind == 8))
        if kind == 1:
            return self.condition(depth - 1) & self.condition(depth - 1)
        if kind in (2, 3):
            return self.condition(depth - 1) | self.condition(depth - 1)
        if kind == 4:
            return ~self.condition(depth - 1)
        if kind == 5:
            return w.held(self.condition(depth - 1), self.length(1, 4))
        if kind == 6:
            return w.within(self.condition(depth - 1), self.length(1, 6))
        return self.comparison()

    def distance(self):
        """A distance in price."""
        return self.real(0.2, 3) * w.rma(w.true_range, self.length())

    def stop(self, *, is_long):
        """A stop of one side."""
        kind = self.rng.integers(4)
        if kind == 0:
            return w.beyond_bar(self.distance())
        if kind == 1:
            return w.from_entry(self.distance())
        if kind == 2:
            return w.share(self.real(0.001, 0.03))
        side = w.lowest(w.low, self.length()) if is_long else w.highest(w.high, self.length())
        return w.level(side)

    def target(self):
        """A target of one side."""
        kind = self.rng.integers(4)
        if kind == 0:
            return w.r_multiple(self.real(0.3, 4))
        if kind == 1:
            return w.from_entry(self.distance())
        return w.share(self.real(0.001, 0.05)) if kind == 2 else w.level(self.price())

    def strategy(self, *further):
        """A whole strategy, with what further methods add to its parts."""
        arguments = {}
        sides = self.pick_one((("long",), ("short",), ("long", "short")))
        for side in sides:
            arguments[side] = self.condition()
            if self.chance(0.5):
                arguments[f"exit_{side}"] = self.condition(1)
        arguments["stop"] = w.by_side(self.stop(is_long=True), self.stop(is_long=False))
        if self.chance(0.6):
            arguments["target"] = w.by_side(self.target(), self.target())
        if self.chance(0.4):
            form = (
                w.from_entry(self.distance())
                if self.chance(0.5)
                else w.share(self.real(0.001, 0.6))
            )
            arguments["trail"] = w.trail(form, after=self.real(0, 2))
        if self.chance(0.3):
            arguments["break_even"] = self.real(0, 2)
        if self.chance(0.5):
            arguments["max_hold"] = self.length(1, 40)
        if self.chance(0.4):
            minute = self.pick_one((1440, 600, 1195))
            begins = 720 if minute == 600 else 0
            arguments["session"] = w.session_exit(minute, self.pick_one(OFFSETS), begins)
        if self.chance(0.2):
            arguments["delay"] = w.whole("late", 1, 0, 3) if self.chance(0.5) else 2
        for add in further:
            add(self, arguments)
        return strategy("Drawn.", **arguments)

    def order(self):
        """How one side enters: at the market, or by an order that rests."""
        kind, price = self.rng.integers(5), self.price()
        expires = None if self.chance(0.3) else self.length(1, 8)
        near = w.close + self.real(-1.5, 1.5) * w.rma(w.true_range, self.length())
        if kind == 0:
            return None
        if kind < 3:
            return w.stop_at(price if self.chance(0.5) else near, expires)
        through = self.pick_one((0, 0, 2)) if self.has_tick else 0
        return w.limit_at(price if self.chance(0.5) else near, expires, through)

    def ladder(self):
        """Several targets of one side, or one."""
        count = int(self.rng.integers(1, 5))
        shares = [round(1 / count, 3) if self.chance(0.7) else 1 / count / 2 for _ in range(count)]
        if self.chance(0.3):
            shares = [1 / count] * count
        elif self.chance(0.3):
            self.genes += 1
            shares[0] = w.gene(f"x{self.genes}", 0.1, 0.05, 1 / count)
        return [(self.target(), share) for share in shares]

    def slippage(self):
        """What fills of one side lose."""
        kind = self.rng.integers(3 if self.has_tick else 2)
        if kind == 0:
            return w.bp(self.real(0, 20))
        if kind == 1:
            return w.price(self.real(-0.1, 0.3) * w.rma(w.true_range, self.length()))
        return w.ticks(self.real(0, 3))

    def charge(self, kind):
        """What is paid for a position along time."""
        least = 0.0 if kind is w.borrow else -0.001
        rate = self.pick_one((0.0001, 0.01 * w.roc(w.close, 5), self.real(least, 0.001)))
        return kind(rate, self.pick_one((None, 60, 480)))

    def sizes(self):
        """How trades are sized from cash, any of these."""
        own = w.notional(5000.0), w.units(3.5)
        return (*own, w.risk(self.real(0.001, 0.2)), w.equity_share(self.real(0.1, 3)),
                w.volatility(self.real(0.001, 0.1), w.rma(w.true_range, 5)))  # fmt: skip

    def account(self):
        """Cash and how trades are sized from it, every other time so that it is easily lost."""
        if self.chance(0.5):
            return self.large_trades()
        leverage = self.pick_one((None, 1, self.real(0.5, 4)))
        return w.account(10_000, self.pick_one(self.sizes()), leverage)

    def large_trades(self):
        """An account that is often lost before a stop; by moves every other bar has no size."""
        move = w.rma(w.true_range, 5) * w.maximum(0, w.zscore(w.close, 9))
        size = self.pick_one((
            w.risk(self.real(0.5, 1)), w.equity_share(self.real(20, 300)),
            w.volatility(self.real(0.3, 3), move),
        ))  # fmt: skip
        return w.account(10_000, size, self.pick_one((None, self.real(20, 200))))

    def with_orders(self, arguments):
        """Some of what orders and money have, in place of what they replace."""
        self.has_tick = self.chance(0.4)
        if self.has_tick or self.chance(0.2):
            tick = self.pick_one(("0.01", "0.25", "0.05")) if self.has_tick else None
            lot = self.pick_one((None, "1", "0.1"))
            arguments["market"] = w.market(tick=tick, multiplier=self.pick_one((1, 0.5)), lot=lot)
        orders = (self.order(), self.order()) if self.chance(0.6) else (None, None)
        if any(orders):
            arguments["entry"] = w.by_side(*orders)
            if self.chance(0.3):
                ends = self.condition(1)
                arguments["cancel"] = w.by_side(ends, ~ends) if self.genes % 2 else ends
        if {"long", "short"} <= arguments.keys() and self.chance(0.5):
            arguments["reverse"] = True
        if self.chance(0.4):
            arguments.pop("target", None)
            arguments["targets"] = w.by_side(self.ladder(), self.ladder())
            if self.chance(0.5):
                arguments["break_even"] = w.after_leg(1)
        return self.with_money(arguments)

    def with_exits(self, arguments):
        """Some of what exits have beside orders, at least one of it."""
        if self.chance(0.7):
            self.genes += 1
            arguments["cooldown"] = self.pick_one((3, w.whole(f"n{self.genes}", 1, 0, 9)))
        if self.chance(0.6):
            side = self.price if self.chance(0.3) else None
            rows = (w.lowest(w.low, self.length()), w.highest(w.high, self.length()))
            if self.chance(0.5):
                rows = w.supertrend(5, 20), w.ema(w.close, self.length())
            forms = [w.trail(w.level(side() if side else row), self.real(0, 2)) for row in rows]
            if self.chance(0.3):
                forms[0] = w.trail(w.from_entry(self.distance()))
            arguments["trail"] = w.by_side(*forms)
        if self.chance(0.4):
            gain = arguments.get("break_even", self.real(0, 2))
            offset = (w.r_multiple(self.real(0.05, 1)), w.share(self.real(0.001, 0.01)))
            arguments["break_even"] = w.break_even(gain, self.pick_one(offset))
        if {"trail", "break_even"} & arguments.keys() and self.chance(0.6):
            arguments["named_stops"] = True
        for side in ("exit_long", "exit_short"):
            if side in arguments and self.chance(0.5):
                kinds = (
                    {"bars_from": self.length(1, 6), "profit_to": self.real(-1, 1)},
                    {"bars_to": self.length(1, 6)},
                    {"profit_from": self.real(-0.5, 0.5)},
                )
                arguments[side] = w.in_trade(arguments[side], **self.pick_one(kinds))
        return arguments

    def with_large_trades(self, arguments):
        """An account that is easily lost."""
        arguments["account"] = self.large_trades()
        return arguments

    def with_money(self, arguments):
        """Some of what fills and positions cost, and of how trades are sized."""
        if self.chance(0.4):
            arguments["slippage"] = w.by_side(self.slippage(), self.slippage())
        if self.chance(0.3):
            arguments["funding"] = self.charge(w.funding)
        if self.chance(0.3):
            arguments["borrow"] = w.by_side(self.charge(w.borrow), None)
        if self.chance(0.4):
            arguments["account"] = self.account()
        return arguments


def drawn_strategy(seed, higher=(60, 240)):
    """The strategy of a seed."""
    return Drawn(seed, higher).strategy()


def drawn_orders(seed, higher=(60, 240)):
    """The strategy of a seed, which may have orders that rest, ladders and money."""
    return Drawn(seed, higher).strategy(Drawn.with_orders)


def drawn_accounts(seed, higher=(60, 240)):
    """The strategy of a seed with all of it, and an account that is easily lost."""
    further = (Drawn.with_orders, Drawn.with_exits, Drawn.with_large_trades)
    return Drawn(seed, higher).strategy(*further)


def drawn_exits(seed, higher=(60, 240)):
    """The strategy of a seed that has later exits, and every other time orders and money too."""
    further = (Drawn.with_orders, Drawn.with_exits) if seed % 2 else (Drawn.with_exits,)
    return Drawn(seed, higher).strategy(*further)
