"""Platforms of Python scripts: their imports, and the rules that differ."""

from collections.abc import Callable

from optimizer.export.member import ExportedMember
from strategy.forms import Trail

HEADS = {
    "backtesting.py": (
        "backtesting.py (0.6.6 was tried)",
        "from backtesting import Backtest, Strategy",
    ),
    "freqtrade": (
        "freqtrade (2026.9 was tried)",
        "from freqtrade.persistence import Trade\n"
        "from freqtrade.strategy import IStrategy, stoploss_from_absolute",
    ),
    "nautilus_trader": (
        "nautilus_trader (1.221.0 was tried)",
        "from decimal import Decimal\n\n"
        "from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig\n"
        "from nautilus_trader.config import LoggingConfig\n"
        "from nautilus_trader.model.currencies import USD\n"
        "from nautilus_trader.model.data import Bar, BarType, QuoteTick\n"
        "from nautilus_trader.model.enums import AccountType, OmsType, OrderSide\n"
        "from nautilus_trader.model.identifiers import InstrumentId, Symbol, Venue\n"
        "from nautilus_trader.model.instruments import Equity\n"
        "from nautilus_trader.model.objects import Money, Price, Quantity\n"
        "from nautilus_trader.trading.strategy import Strategy",
    ),
    "vectorbt": (
        "vectorbt (1.2.0 was tried)",
        "import vectorbt as vbt\nfrom vectorbt.portfolio.nb import order_nb, order_nothing_nb",
    ),
}
"""Platforms with the version that was tried, and what their scripts import."""

SIZE = """\
Size: the risk fraction of the account, and never more than the account; the run would borrow. The
platform's own return and drawdown differ for that; R and the equity printed last do not."""


def _always(_: ExportedMember) -> bool:
    return True


def _has_target(member: ExportedMember) -> bool:
    return member.strategy.target is not None or member.strategy.targets is not None


def _moves_stop(member: ExportedMember) -> bool:
    return isinstance(member.strategy.trail, Trail) or member.strategy.break_even is not None


DIFFERENCES: dict[str, tuple[tuple[str, Callable[[ExportedMember], bool]], ...]] = {
    "backtesting.py": (
        (
            "Target gap: an open beyond the target fills at that open; the run takes the target.",
            _has_target,
        ),
        (
            "Time and session: out at the open after the bar whose close the run leaves at. The "
            "trades that follow are the same.",
            lambda member: bool(member.strategy.max_hold or member.strategy.session),
        ),
        (
            "Bracket: an order is refused unless stop, last close and target stand in this order. "
            "Where the market opens beyond one of them, that one is given at the close of the "
            "entry bar and works from the next on; the run has it from the entry on.",
            _always,
        ),
        ("End: an open position closes at the last bar's open, not at its close.", _always),
        ("Start: the first bar of the file cannot signal.", _always),
        (f"{SIZE} Units are whole.", _always),
    ),
    "freqtrade": (
        (
            "Time: out at the open after the bar whose close the run leaves at. A signal of that "
            "bar is lost where entries are not delayed, because freqtrade enters before it leaves.",
            lambda member: bool(member.strategy.max_hold),
        ),
        (
            "Moved stop and target in one bar: freqtrade asks for the target first; for the stop "
            "as it was at the entry first, as the run.",
            lambda member: _moves_stop(member) and _has_target(member),
        ),
        (
            "Moved stop: a bar that also reaches the stop before the move is left at that one.",
            _moves_stop,
        ),
        (
            "Target: has to be passed, not met; an open beyond it fills at that open. The run "
            "takes the target.",
            _has_target,
        ),
        ("End: an open position closes at the last bar's open, not at its close.", _always),
        (
            "Live: the open that fills an order is not known at the close before it, so that "
            "close says whether a trade risks enough. Stops follow candles since the entry, which "
            "have to be among those that the exchange gives.",
            _always,
        ),
        (
            "Size: the risk fraction of the account, and never more than the stake that freqtrade "
            "allows; the run would borrow. Fees are those of freqtrade's configuration.",
            _always,
        ),
    ),
    "nautilus_trader": (
        (
            "Stop and target in one bar: the platform follows the path that it is given, whose "
            "worse extreme comes first for a trade of the last signal's side. So the stop is "
            "first, as in the run, unless a signal of the other side came while the trade was "
            "open; then the target is.",
            lambda member: (
                _has_target(member)
                and member.strategy.long is not None
                and member.strategy.short is not None
            ),
        ),
        (
            "Open beyond the target: the trade ends there, at the target; the run asks first "
            "whether that bar reaches the stop.",
            _has_target,
        ),
        (
            "Gap: a stop that waits over an open would be filled at its own price. So it is taken "
            "back at each close and placed again at the open; beyond it the trade is left at the "
            "open, as in the run.",
            _always,
        ),
        ("Prices have nine digits behind the point.", _always),
        (
            "Size: the risk fraction of the account, and never more than the account; the run "
            "would borrow. The platform's own account differs for that; R and the equity printed "
            "last do not. Units are whole.",
            _always,
        ),
    ),
    "vectorbt": ((SIZE, _always),),
}
"""Which rules differ, and of which members."""
