"""Strategies: genes, rows, conditions, stops and exits, as plain data."""

from strategy.errors import StrategyError
from strategy.files import load_strategy
from strategy.gene import Gene
from strategy.genes import GenomeLayout, LessThan
from strategy.model import Strategy
from strategy.rules import STRATEGIES, find_strategy, register

__all__ = [
    "STRATEGIES",
    "Gene",
    "GenomeLayout",
    "LessThan",
    "Strategy",
    "StrategyError",
    "find_strategy",
    "load_strategy",
    "register",
]
