"""The strategies that ship with the project, one file each."""

from strategy.errors import StrategyError, unknown
from strategy.rules.mean_reversion import MEAN_REVERSION
from strategy.rules.seller_exhaustion import SELLER_EXHAUSTION
from strategy.spec import StrategySpec

STRATEGIES: dict[str, StrategySpec] = {
    spec.name: spec for spec in (SELLER_EXHAUSTION, MEAN_REVERSION)
}


def register(spec: StrategySpec) -> StrategySpec:
    """Make a strategy of your own known by its name, in this process.

    Raises:
        StrategyError: When another strategy has that name.
    """
    if STRATEGIES.setdefault(spec.name, spec).digest != spec.digest:
        raise StrategyError(
            f"there is another strategy '{spec.name}' already; name yours otherwise"
        )
    return spec


def find_strategy(name: str) -> StrategySpec:
    """The strategy of that name as published; an unknown name is a `StrategyError`."""
    if name not in STRATEGIES:
        raise StrategyError(unknown("strategy", name, list(STRATEGIES)))
    return STRATEGIES[name]
