"""Bars in: read from a source, checked, hashed, cut into windows."""

from data.bars import Bars, Gaps, Window
from data.errors import DataError
from data.holdout import Holdout, parse_holdout, split_window
from data.load import load_bars
from data.providers import PROVIDERS
from data.resample import resample
from data.selection import expand_spec
from data.table import LoadOptions
from data.timeframe import format_timeframe, infer_timeframe, parse_timeframe

__all__ = [
    "PROVIDERS",
    "Bars",
    "DataError",
    "Gaps",
    "Holdout",
    "LoadOptions",
    "Window",
    "expand_spec",
    "format_timeframe",
    "infer_timeframe",
    "load_bars",
    "parse_holdout",
    "parse_timeframe",
    "resample",
    "split_window",
]
