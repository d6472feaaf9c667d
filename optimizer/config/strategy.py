"""What is traded, and what a trade costs and risks."""

from optimizer.config.knobs import Settings, knob
from optimizer.config.values import Bounds


class StrategySettings(Settings):
    """The strategy and the bounds of its genes."""

    strategy: str = knob(
        "seller_exhaustion", decides="strategy", description="Name of the strategy."
    )
    scale_lengths: bool = knob(
        True,
        decides="strategy",
        description="Scale lengths in bars from the strategy's timeframe to the data's.",
    )
    bounds: Bounds = knob(
        {},
        decides="strategy",
        description="Bounds of a gene, each a pair [low, high]; the flag repeats.",
    )


class CostSettings(Settings):
    """Costs and risk; the fields of `engine.costs.Costs`."""

    fee_bp: float = knob(
        5.0,
        decides="costs",
        ge=0,
        le=10_000,
        description="Fee per side, basis points of notional.",
    )
    slippage_bp: float = knob(
        5.0, decides="costs", ge=0, le=10_000, description="Slippage per side, basis points."
    )
    min_risk: float = knob(
        0.0001,
        decides="costs",
        ge=0,
        description="Trades that risk no more than this share of price are rejected.",
    )
    risk_fraction: float = knob(
        0.01, decides="costs", gt=0, le=1, description="Share of equity that one R is worth."
    )
