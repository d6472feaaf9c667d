"""The head of a script for nautilus_trader: its imports, and which rules differ."""

from collections.abc import Callable

from optimizer.export.member import ExportedMember

NAUTILUS_HEAD = (
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
)

NAUTILUS_DIFFERENCES: tuple[tuple[str, Callable[[ExportedMember], bool]], ...] = (
    (
        "Stop and target in one bar: the platform follows the path that it is given, whose worse "
        "extreme comes first for a trade of the last signal's side. So the stop is first, as in "
        "the run, unless a signal of the other side came while the trade was open; then the "
        "target is.",
        lambda member: (
            member.strategy.target is not None
            and member.strategy.long is not None
            and member.strategy.short is not None
        ),
    ),
    (
        "Open beyond the target: the trade ends there, at the target; the run asks first whether "
        "that bar reaches the stop.",
        lambda member: member.strategy.target is not None,
    ),
    (
        "Gap: a stop that waits over an open would be filled at its own price. So it is taken "
        "back at each close and placed again at the open; beyond it the trade is left at the "
        "open, as in the run.",
        lambda _: True,
    ),
    ("Prices have nine digits behind the point.", lambda _: True),
    (
        "Size: the risk fraction of the account, and never more than the account; the run would "
        "borrow. The platform's own account differs for that; R and the equity printed last do "
        "not. Units are whole.",
        lambda _: True,
    ),
)
"""Which rules differ, and of which members."""
