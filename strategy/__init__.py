"""What to trade: genes, rows, conditions, stops and exits, as plain data."""

from strategy.errors import StrategyError
from strategy.files import load_strategy
from strategy.genes import Gene, GenomeLayout, LessThan
from strategy.indicators import Indicator, Parameter
from strategy.model import Strategy
from strategy.narrow import narrowed
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
    "Strategy",
    "StrategyError",
    "StrategySpec",
    "find_strategy",
    "load_strategy",
    "narrowed",
    "register",
]
