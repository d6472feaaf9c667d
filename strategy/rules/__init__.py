"""The strategies that ship with the project, those of one idea in one file."""

from pathlib import Path

from strategy.errors import StrategyError, unknown
from strategy.model import Strategy
from strategy.rules.adaptive_trend import ADAPTIVE_TREND, ADAPTIVE_TREND_BRACKET
from strategy.rules.forecast_follow import FORECAST_FOLLOW
from strategy.rules.mean_reversion import MEAN_REVERSION
from strategy.rules.seller_exhaustion import SELLER_EXHAUSTION, SELLER_EXHAUSTION_FORECAST


def is_file(name: str) -> bool:
    """True if a strategy is named by its file.

    >>> is_file("mine.py"), is_file("ideas/mine.py:PULLBACK"), is_file("mean_reversion")
    (True, True, False)
    """
    return name.endswith(".py") or name.rpartition(":")[0].endswith(".py")


STRATEGIES: dict[str, Strategy] = {
    spec.name: spec
    for spec in (
        SELLER_EXHAUSTION,
        MEAN_REVERSION,
        ADAPTIVE_TREND,
        ADAPTIVE_TREND_BRACKET,
        FORECAST_FOLLOW,
        SELLER_EXHAUSTION_FORECAST,
    )
}


def register(spec: Strategy) -> Strategy:
    """Make a strategy of your own known by its name, in this process.

    Raises:
        StrategyError: When another strategy has that name.
    """
    if STRATEGIES.setdefault(spec.name, spec).digest != spec.digest:
        raise StrategyError(
            f"there is another strategy '{spec.name}' already; name yours otherwise"
        )
    return spec


def find_strategy(name: str) -> Strategy:
    """The strategy of that name as published, or that of a file, ``FILE.py`` or ``FILE.py:NAME``.

    Raises:
        StrategyError: When the name is unknown, or the file makes no such strategy.
    """
    if is_file(name):
        from strategy.files import load_strategy

        return load_strategy(name)
    if name not in STRATEGIES:
        raise StrategyError(f"{unknown('strategy', name, list(STRATEGIES))}{_as_file(name)}")
    return STRATEGIES[name]


def _as_file(name: str) -> str:
    """Hint where a name that is unknown looks like that of a file."""
    if Path(f"{name}.py").is_file():
        return f"; or the file {name}.py?"
    is_path = Path(name).exists() or Path(name).name != name
    return "; the name of a strategy's file ends in .py" if is_path else ""
