"""One member of a front with all that its trades depend on, in the words of the language."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engine.accounts.costs import Costs
from optimizer.errors import ConfigError
from strategy.expressions import Setting
from strategy.forms import BySide, follows_level
from strategy.gene import GeneText
from strategy.model import Strategy
from strategy.parts import PARTS
from strategy.rows import resolve_value

SIMPLE = frozenset(name for name, part in PARTS.items() if not part.is_later)
"""Parts of a strategy that every program knows."""

ORDERED = SIMPLE | frozenset(
    ("entry", "cancel", "targets", "after_leg", "reverse", "market", "cooldown", "even_offset",
     "exit_bounds")
)  # fmt: skip
"""The same with orders, ladders, ticks and later exits."""

PLATFORM_PARTS: Mapping[str, frozenset[str]] = {
    "backtesting.py": ORDERED,
    "freqtrade": SIMPLE - {"session"},
    "nautilus_trader": SIMPLE,
    "vectorbt": ORDERED | {"slippage", "named_stops"},
    "pine": ORDERED | {"slippage"},
}
"""Parts that a program knows, by its platform; every other one is refused by its name."""

FOLLOWING = ("backtesting.py", "vectorbt", "pine")
"""Platforms whose programs know a stop that follows a row."""

CHARGES = ("fee_bp", "slippage_bp", "min_risk", "risk_fraction", "entry_delay")
"""Fields of costs that every program knows; any other must be as it is without a setting."""


@dataclass(frozen=True)
class ExportedMember:
    """A member of a front, for one series.

    Raises:
        ConfigError: When it has an indicator of a person's own, whose code no other program has, or
            a part that a program of the platform does not know.
    """

    platform: str  # a name of `PLATFORM_PARTS`
    title: str  # run and member, for people
    strategy: Strategy  # in words, without choices and switches
    genes: Mapping[str, int | float]  # value by name of each gene that it reads
    warm_up: int  # first bar that may signal, also by what its options leave out
    costs: Costs  # of its trades
    bar_ns: int  # duration of a bar, nanoseconds
    shown: Mapping[str, GeneText]  # all genes that were searched, options by their names

    def __post_init__(self) -> None:
        if self.strategy.own:
            raise ConfigError(
                f"own indicator '{min(self.strategy.own)}': its code is yours and is not exported"
            )
        known = PLATFORM_PARTS[self.platform]
        parts = [
            name for name in PARTS if name not in known and getattr(self.strategy, name) is not None
        ]
        if isinstance(self.strategy.cancel, BySide):
            parts.append("cancel=by_side(...)")
        if follows_level(self.strategy.trail) and self.platform not in FOLLOWING:
            parts.append("trail(level(...))")
        plain = Costs()
        charges = [
            name
            for name, value in vars(self.costs).items()
            if name not in CHARGES and value != getattr(plain, name)
        ]
        if unknown := [*parts, *charges]:
            raise ConfigError(
                f"{', '.join(unknown)}: a program for {self.platform} does not know of it, and its "
                "trades would be others; it is not exported"
            )

    def value(self, setting: Setting | None, otherwise: float) -> float:
        """The value of a setting, or another one where there is none."""
        return otherwise if setting is None else resolve_value(setting, self.genes)

    def constants(self, never: str) -> dict[str, object]:
        """Numbers that every program of it has; `never` is a gain that is never reached."""
        strategy = self.strategy
        break_even = self.value(strategy.break_even, math.inf)
        return {
            "cost": float(self.costs.per_side),
            "min_risk": float(self.costs.min_risk),
            "risk_fraction": float(self.costs.risk_fraction),
            "delay": self.delay,
            "max_hold": int(self.value(strategy.max_hold, 0.0)),
            "break_even": never if break_even == math.inf else break_even,
            "warm_up": self.warm_up,
        }

    @property
    def delay(self) -> int:
        """Bars that an entry waits beyond the next."""
        return int(self.value(self.strategy.delay, 0.0)) + self.costs.entry_delay

    @property
    def summary(self) -> Iterator[str]:
        """Summary of the member, a line each."""
        summary = f"{self.strategy.name or 'A strategy'}: {self.strategy.summary}"
        # Some platform may take any of these for the end of a line.
        yield "".join(letter if letter.isprintable() else " " for letter in summary)
        yield self.title
        values = self.shown.items()
        texts = (f"{n} {v if isinstance(v, str) else format(v, 'g')}" for n, v in values)
        yield "Genes: " + ", ".join(texts)
