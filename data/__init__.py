"""Bars in: read from a source, checked, hashed, cut into windows."""

from data.bars import Bars, Gaps, Window
from data.errors import DataError
from data.timeframe import format_timeframe, infer_timeframe, parse_timeframe

__all__ = [
    "Bars",
    "DataError",
    "Gaps",
    "Window",
    "format_timeframe",
    "infer_timeframe",
    "parse_timeframe",
]
