"""Costs of trading, and the share of the account that a trade risks."""

import math
from dataclasses import dataclass, replace

from engine.errors import EngineError
from strategy.model import Strategy

MOST_DELAY = 1000
"""Bars; a longer one asks something else."""


@dataclass(frozen=True)
class Costs:
    """Costs and the rules that turn a trade into money; each is part of the law.

    Args:
        fee_bp: Fee per side in basis points of traded notional, at least 0.
        slippage_bp: Slippage per side in basis points of traded notional, at least 0.
        min_risk: Smallest risk of a trade as a fraction of its entry price, at least 0; a trade
            that does not risk more is rejected.
        risk_fraction: Fraction of equity that one R is worth, above 0 and at most 1.
        entry_delay: Whole bars, at least 0, by which every entry is later than the bar after its
            signal; exits are not delayed. It answers whether an edge lives on being quick.
        fee_unit: Fee per side for one unit, money, at least 0, beside that in basis points.
        fee_min: Least fee of a fill, money, at least 0; it needs an account that has cash.
        max_positions: Most positions that one account has open together; any when None.
        max_leverage: Most that they are worth together over the account; any when None.
        rank: Row that decides whose signal is taken first of those that ask together, greatest
            first, as `strategy.row_text.parse_row` reads it; the order of symbols when None.

    Raises:
        EngineError: When a value is not finite or outside its range.

    Source: house rule; 5 + 5 basis points a side is a cautious figure for liquid markets.
    """

    fee_bp: float = 5.0
    slippage_bp: float = 5.0
    min_risk: float = 0.0001
    risk_fraction: float = 0.01
    entry_delay: int = 0
    fee_unit: float = 0.0
    fee_min: float = 0.0
    max_positions: int | None = None
    max_leverage: float | None = None
    rank: str | None = None

    def __post_init__(self) -> None:
        for name in ("fee_bp", "slippage_bp", "min_risk", "risk_fraction", "fee_unit", "fee_min"):
            value = getattr(self, name)
            if isinstance(value, bool) or not math.isfinite(value) or value < 0:
                raise EngineError(f"{name} must be a number of at least 0, got {value!r}")
        if not 0 < self.risk_fraction <= 1:
            raise EngineError(f"risk_fraction must be in (0, 1], got {self.risk_fraction!r}")
        delay = self.entry_delay
        if isinstance(delay, bool) or not isinstance(delay, int) or not 0 <= delay <= MOST_DELAY:
            raise EngineError(f"entry_delay must be 0 to {MOST_DELAY} bars, got {delay!r}")
        self._check_limits()

    def _check_limits(self) -> None:
        most, leverage = self.max_positions, self.max_leverage
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise EngineError(f"max_positions must be at least 1, got {most!r}")
        if leverage is not None and not (math.isfinite(leverage) and leverage > 0):
            raise EngineError(f"max_leverage must be a number above 0, got {leverage!r}")
        if self.rank is not None and not self.has_limits:
            raise EngineError("rank orders signals of a limited account: set max_positions too")

    @property
    def has_limits(self) -> bool:
        """True if an account may have no room for a signal."""
        return self.max_positions is not None or self.max_leverage is not None

    @property
    def without_limits(self) -> "Costs":
        """The same for an account that has room for every signal."""
        return replace(self, max_positions=None, max_leverage=None, rank=None)

    @property
    def per_side(self) -> float:
        """Cost of one side as a fraction of traded notional."""
        return (self.fee_bp + self.slippage_bp) / 10000


def has_orders(strategy: Strategy, costs: Costs) -> bool:
    """True if the strategy or its charges need the walk of orders for positions."""
    return strategy.has_orders or costs.fee_unit > 0.0
