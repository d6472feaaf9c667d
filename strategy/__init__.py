"""What to trade: genes, indicator rows, entry comparisons and exit brackets, as plain data."""

from strategy.errors import StrategyError
from strategy.genes import Gene, GenomeLayout, LessThan
from strategy.rules import STRATEGIES, find_strategy, register
from strategy.spec import Bracket, Comparison, Row, StrategySpec

__all__ = [
    "STRATEGIES",
    "Bracket",
    "Comparison",
    "Gene",
    "GenomeLayout",
    "LessThan",
    "Row",
    "StrategyError",
    "StrategySpec",
    "find_strategy",
    "register",
]
