"""Stops, targets and session exits as plain data."""

from collections.abc import Collection, Mapping
from dataclasses import fields

from data.plain import quote_value
from data.timeframe import MINUTE_NS
from strategy.clock import Offset, check_offset, local_time
from strategy.errors import StrategyError
from strategy.expressions import (
    DAY_MINUTES,
    Arithmetic,
    Expression,
    GeneValue,
    Number,
    Setting,
    check_settings,
)
from strategy.genes import Ints
from strategy.indicators import ABOVE_ZERO, ANY
from strategy.nodes import Node, declare, later, real, walk, whole


class PriceForm(Node):
    """A rule for the price of a stop or target."""

    def __post_init__(self) -> None:
        check_settings(self)

    @property
    def reads(self) -> Expression | None:
        """The expression that it reads; None where it takes constants and genes alone."""
        values = (getattr(self, one.name) for one in fields(self) if one.name not in self.numbers)
        return next((value for value in values if isinstance(value, Expression)), None)


@declare("beyond_bar")
class BeyondBar(PriceForm):
    """A stop so far below the signal bar's low, or above its high for a short."""

    distance: Expression


@declare("from_entry")
class FromEntry(PriceForm):
    """A price so far from the entry."""

    distance: Expression


@declare("share")
class Share(PriceForm):
    """A price at this fraction of the entry from it."""

    fraction: Setting = real()


@declare("level")
class Level(PriceForm):
    """The price in a row at the signal bar."""

    price: Expression


@declare("r_multiple")
class RMultiple(PriceForm):
    """A target at so many times the risk from the entry."""

    multiple: Setting = real()


@declare("trail")
class Trail(Node):
    """A stop that follows once the best price is `after` times the risk from the entry.

    It stays behind that price, or with `level` at the value of a row at each close.
    """

    # `FromEntry` or `Share`: how far behind the best price; `Level`: the row that it follows.
    form: FromEntry | Share | Level
    # It begins once the best price is so many times the risk from the entry.
    after: Setting = real(least=0, default=Number(0.0))

    def __post_init__(self) -> None:
        check_side("trail", self.form, TRAILS)
        check_settings(self)


@declare("by_side")
class BySide(Node):
    """One form for longs, another one for shorts."""

    long: Node | None
    short: Node | None


@declare("in_trade")
class PositionBounds(Node):
    """Bounds of a position between which its exit condition counts; None: no bound."""

    # Bars in the trade, its entry's being the first.
    bars_from: Setting | None = whole(default=None)
    bars_to: Setting | None = whole(default=None)
    # Open profit at the close, in units of risk, without costs.
    profit_from: Setting | None = real(least=ANY, default=None)
    profit_to: Setting | None = real(least=ANY, default=None)

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.settings:
            raise StrategyError(
                "in_trade needs a bound: bars_from, bars_to, profit_from, profit_to"
            )


@declare("session_exit")
class SessionExit(Node):
    """Out at a minute of the local day, and whenever another session has begun."""

    # 1 to 1,440; the bar that reaches it is the last.
    minute: Setting = whole(most=DAY_MINUTES, default=Number(1440.0))
    offset: Offset = 0  # minutes added to UTC, or a zone's name
    # Minute of the local day at which a session begins; it may end the day after.
    begins: int = later(default=0)

    def __post_init__(self) -> None:
        check_settings(self)
        check_offset(self.offset)
        is_whole = isinstance(self.begins, int) and not isinstance(self.begins, bool)
        if not is_whole or not 0 <= self.begins < DAY_MINUTES:
            raise StrategyError(
                f"session_exit begins at a whole minute from 0 to {DAY_MINUTES - 1:,}, such as "
                f"begins=1080 for 18:00, got {quote_value(self.begins)}"
            )

    def local_time(self, timestamp: Ints) -> Ints:
        """Nanoseconds [T] of the session's clock, whose days are the sessions."""
        return local_time(timestamp, self.offset) - self.begins * MINUTE_NS

    def last_minute(self, minute: float) -> int:
        """Minute of a session, from 1 on, at which it ends by a minute of the local day."""
        return (int(minute) - self.begins - 1) % DAY_MINUTES + 1


PRICES = (BeyondBar, FromEntry, Share, Level, RMultiple)
STOPS = (BeyondBar, FromEntry, Share, Level)
TARGETS = (RMultiple, FromEntry, Share, Level)
TRAILS = (FromEntry, Share, Level)
OFFSETS = (RMultiple, Share)


FROM_ROW: Mapping[str, str] = {
    "from_entry": "a row is a price: write level({0}); one that is a distance is from_entry({0})",
    "stop_at": "a row is a price: write stop_at({0}) or limit_at({0})",
    "trail": "a row is a price: write trail(level({0})); a distance is trail(from_entry({0}))",
    "price": "a row of prices is price({0})",
    "funding": "a row of rates is funding({0}, every=480)",
    "borrow": "a row of rates is borrow({0})",
}
"""Words for a row, by a word that is legal in its place."""

FROM_NUMBER: Mapping[str, str] = {
    "r_multiple": "write r_multiple(2) for twice the risk, share(0.02) for 2 % of the price",
    "share": "write share(0.02) for 2 % of the price, level(...) for a price",
    "trail": "write trail(share(0.02)) for 2 % of the price",
    "stop_at": "write stop_at({0}) or limit_at({0}) for a price",
    "ticks": "write ticks({0}) or bp({0})",
    "risk": "write risk(0.01) for 1 % of the cash, units({0}) for so many",
    "session_exit": "write session_exit({0}), a minute of the day",
    "market": 'write market(tick="0.01")',
    "funding": "write funding({0}, every=480)",
    "borrow": "write borrow({0})",
}
"""Words for a number, by a word that is legal in its place."""

TRAILED = ("from_entry", "share", "level")
"""Forms of which `trail` makes a stop that follows."""


def check_side(name: str, form: object, legal: tuple[type[Node], ...], *more: str) -> None:
    """Refuse what is none of the legal forms; `more` are others that a person may write."""
    if not isinstance(form, legal):
        words = [*(kind.written for kind in legal), *more]
        forms = " or ".join(", ".join(f"{word}(...)" for word in words).rsplit(", ", 1))
        got = quote_value(form)
        hint = _suggest_form(got, _find_kind(form), words)
        raise StrategyError(f"{name} takes {forms}, got {got}{hint}")


def _suggest_form(text: str, kind: str, legal: Collection[str]) -> str:
    """End of a message about a value that is none of the legal forms; empty without an idea.

    Args:
        text: The value as a person wrote it.
        kind: ``row``, ``number``, or the word of a form.
        legal: Words of what is legal there.

    >>> _suggest_form("1", "number", ["ticks", "bp"])
    '; write ticks(1) or bp(1)'
    """
    if kind in TRAILED and "trail" in legal:
        return f"; write trail({text})"
    hints = FROM_ROW if kind == "row" else FROM_NUMBER if kind == "number" else {}
    known = next((hint for word, hint in hints.items() if word in legal), None)
    return "" if known is None else f"; {known.format(text)}"


def _find_kind(form: object) -> str:
    """A row, a number, or the word of a form."""
    if isinstance(form, Node):
        return form.label
    if isinstance(getattr(form, "tree", None), Expression):
        return "row"
    return "number" if isinstance(form, int | float) and not isinstance(form, bool) else ""


def split_sides(form: object) -> tuple[object, object]:
    """The form for longs, and that for shorts."""
    return (form.long, form.short) if isinstance(form, BySide) else (form, form)


def follows_level(trail: object) -> bool:
    """Whether the stop of a side follows a row."""
    sides = split_sides(trail)
    return any(isinstance(side, Trail) and isinstance(side.form, Level) for side in sides)


def positive_genes(strategy: Node) -> set[str]:
    """Genes that must be above 0: multiples and fractions, and what a distance is a multiple of."""
    names = set()
    for node in walk(strategy):
        for parameter, setting in node.settings:
            if parameter.least == ABOVE_ZERO and isinstance(setting, GeneValue):
                names.add(setting.gene.name)
        distance = getattr(node, "distance", None)
        if isinstance(distance, Arithmetic) and distance.operation == "*":
            sides = distance.left, distance.right
            names |= {side.gene.name for side in sides if _is_above_zero(side)}  # type: ignore[union-attr]
    return names


def _is_above_zero(side: Node | None) -> bool:
    return isinstance(side, GeneValue) and side.gene.low > 0
