"""Indicators: each in one file, with its formula, its source, its warm-up and a readable loop.

The loops here are the oracle's: one bar at a time, causal, as they read in plain Python and in the
same words compiled. Fast forms live beside the other rows of each engine backend and must equal
these bit for bit. Lengths are checked before a loop is called, by `Indicator.check`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strategy.errors import IndicatorError
from strategy.genes import Floats
from strategy.indicators.close_location import close_location
from strategy.indicators.ema import ema
from strategy.indicators.level import level
from strategy.indicators.sma import sma
from strategy.indicators.true_range import true_range
from strategy.indicators.zscore import zscore


@dataclass(frozen=True)
class Indicator:
    """What a strategy may ask for as a row.

    Args:
        name: Key in `INDICATORS`.
        loop: The readable definition: (values [T], *lengths) to values [T].
        n_lengths: How many lengths it takes.
        shortest: Smallest legal length in bars.
        fixed_source: The source it always reads; empty where the strategy chooses one.
        computed_as: Name of the indicator that computes it, where it is another one on a fixed
            source; else its own name.
    """

    name: str
    loop: Callable[..., Floats]
    n_lengths: int
    shortest: int = 1
    fixed_source: str = ""
    computed_as: str = ""

    @property
    def form(self) -> str:
        """Name under which backends compute it."""
        return self.computed_as or self.name

    def check(self, lengths: Sequence[int]) -> None:
        """Refuse lengths that the formula cannot have.

        Args:
            lengths: Bars.

        Raises:
            IndicatorError: When one is below `shortest`.
        """
        for length in lengths:
            if length < self.shortest:
                raise IndicatorError(
                    f"{self.name} needs a length of at least {self.shortest} bars, got {length}"
                )


INDICATORS: dict[str, Indicator] = {
    "atr": Indicator("atr", sma, 1, shortest=2, fixed_source="true_range", computed_as="sma"),
    "ema": Indicator("ema", ema, 1),
    "level": Indicator("level", level, 0),
    "sma": Indicator("sma", sma, 1, shortest=2),
    "zscore": Indicator("zscore", zscore, 1, shortest=2),
}
"""Every indicator by name. atr(w) is sma(true_range, w)."""

SOURCES: dict[str, Callable[..., Floats] | None] = {
    "open": None,
    "high": None,
    "low": None,
    "close": None,
    "volume": None,
    "true_range": true_range,
    "close_location": close_location,
}
"""What a row may read: a column of the bars, or a function (high, low, close) of them."""
