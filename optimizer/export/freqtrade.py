"""The head of a strategy for freqtrade: its imports, how it is run, which rules differ."""

from collections.abc import Callable

from optimizer.errors import ConfigError
from optimizer.export.member import ExportedMember
from strategy.exits import Trail

FREQTRADE_HEAD = (
    "freqtrade (2026.9 was tried)",
    "from freqtrade.persistence import Trade\n"
    "from freqtrade.strategy import IStrategy, stoploss_from_absolute",
)

FREQTRADE_USAGE = "freqtrade backtesting --strategy Exported --strategy-path ITS_FOLDER"


def _moves_stop(member: ExportedMember) -> bool:
    strategy = member.strategy
    return isinstance(strategy.trail, Trail) or strategy.break_even is not None


FREQTRADE_DIFFERENCES: tuple[tuple[str, Callable[[ExportedMember], bool]], ...] = (
    (
        "Time: out at the open after the bar whose close the run leaves at. A signal of that bar "
        "is lost where entries are not delayed, because freqtrade enters before it leaves.",
        lambda member: bool(member.strategy.max_hold),
    ),
    (
        "Moved stop and target in one bar: freqtrade asks for the target first; for the stop as it "
        "was at the entry first, as the run.",
        lambda member: _moves_stop(member) and member.strategy.target is not None,
    ),
    (
        "Moved stop: a bar that also reaches the stop before the move is left at that one.",
        _moves_stop,
    ),
    (
        "Target: has to be passed, not met; an open beyond it fills at that open. The run takes "
        "the target.",
        lambda member: member.strategy.target is not None,
    ),
    ("End: what is open at the last bar is closed at its open, not at its close.", lambda _: True),
    (
        "Live: the open that fills an order is not known at the close before it, so that close "
        "says whether a trade risks enough. Stops follow candles since the entry, which have to "
        "be among those that the exchange gives.",
        lambda _: True,
    ),
    (
        "Size: the risk fraction of the account, and never more than the stake that freqtrade "
        "allows; the run would borrow. Fees are those of freqtrade's configuration.",
        lambda _: True,
    ),
)
"""Which rules differ, and of which members."""


def refuse_shorts(member: ExportedMember) -> None:
    """Refuse a strategy that sells short.

    Raises:
        ConfigError: When it does.
    """
    if member.strategy.short is not None:
        raise ConfigError(
            "short: a program for freqtrade trades spot markets, which are only bought; it is not "
            "exported"
        )
