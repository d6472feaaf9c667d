"""Parameters of a scan: one set for every symbol, and the thresholds of the classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from optimizer.errors import ConfigError
from optimizer.trend_scan.knobs import HIGH, LOW
from strategy.errors import StrategyError, unknown
from strategy.expressions import Call, Number
from strategy.indicator_registry import KINDS, Kind


@dataclass(frozen=True)
class ScanParams:
    """Parameters of the trend, and thresholds of its classes.

    Raises:
        ConfigError: When a parameter is unknown or not legal, or thresholds are not in order.

    >>> ScanParams({"ema_len": 21}).parameters[:3]
    (21, 28, 28)
    """

    # Parameters of the indicator by name; unnamed ones have its defaults.
    settings: Mapping[str, float]
    high: float = HIGH  # a trend above it is long
    low: float = LOW  # a trend below it is short; at most `high`
    is_script: bool = False  # whether it is the trend as the script of its author has it

    def __post_init__(self) -> None:
        for name in self.settings:
            if name not in self.names:
                raise ConfigError(unknown("parameter", name, list(self.names)))
        try:
            Call(self.kind.name, None, tuple(Number(value) for value in self._given))
        except StrategyError as error:
            raise ConfigError(str(error)) from None
        # A threshold that is no number is in no order either.
        if not -1 <= self.low <= self.high <= 1:
            raise ConfigError(
                f"--low {self.low:g} and --high {self.high:g}: thresholds lie between -1 and 1, "
                "the low one at or below the high one"
            )

    @property
    def kind(self) -> Kind:
        """The indicator."""
        return KINDS["adaptive_trend_script" if self.is_script else "adaptive_trend"]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of its parameters, in their order."""
        return tuple(parameter.name for parameter in self.kind.parameters)

    @cached_property
    def parameters(self) -> tuple[int, ...]:
        """All of them, as the indicator takes them."""
        return tuple(int(value) for value in self._given)

    @property
    def least_bars(self) -> int:
        """Bars that a symbol needs: the trend's own warm-up and two more."""
        # The warm-up of a strategy is one bar shorter, because a cross adds one.
        return self.kind.warm_up(*self.parameters) + 3

    @property
    def _given(self) -> tuple[float, ...]:
        defaults = dict(zip(self.names, self.kind.defaults, strict=True))
        return tuple({**defaults, **self.settings}.values())
