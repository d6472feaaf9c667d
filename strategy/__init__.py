"""What to trade: genes, indicator rows, entry comparisons and exit brackets, as plain data."""

from strategy.errors import StrategyError
from strategy.genes import Gene, GenomeLayout, LessThan
from strategy.indicators import Indicator, Parameter
from strategy.rules import STRATEGIES, find_strategy, register
from strategy.spec import Bracket, Comparison, Row, StrategySpec

__all__ = [
    "STRATEGIES",
    "Bracket",
    "Comparison",
    "Gene",
    "GenomeLayout",
    "Indicator",
    "LessThan",
    "Parameter",
    "Row",
    "StrategyError",
    "StrategySpec",
    "find_strategy",
    "register",
]
