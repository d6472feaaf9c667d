"""The pick, as it is recorded and in words: the member that every verdict is about."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from optimizer.evidence.figures import Number, Why
from optimizer.evidence.statistic import Numbers, shorten
from optimizer.formatting import format_count
from optimizer.store.payload import OPTIONAL
from strategy.gene import GeneText


@dataclass(frozen=True)
class PickRecord(Numbers):
    """The member that is judged."""

    member: int
    genes: Mapping[str, GeneText]
    strength: Number
    trades: int
    why: Why = field(default_factory=dict)
    # Whether a person named it; else it is that of greatest strength.
    is_named: Annotated[bool, OPTIONAL] = False
    mean_r: Number = None  # of its trades on the searched bars
    # Number of trades there, of symbols with any.
    trades_by_symbol: Annotated[Mapping[str, int], OPTIONAL] = field(default_factory=dict)

    def describe(self) -> str:
        """Sentence on the member that is the one answer of a run, and why."""
        why = "named by --pick" if self.is_named else "the strongest of the front"
        trades = f"Member {self.member}, {why}: {format_count(self.trades, 'trade')}"
        if self.strength is None:
            return f"{trades}, their strength is {self.format('strength')}."
        side = "below" if self.strength < 0 else "above"
        distance = shorten(abs(self.strength))
        return f"{trades} that lie about {distance} standard errors {side} zero."
