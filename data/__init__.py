"""Bars in: read from a source, checked, hashed, cut into windows."""

from data.bars import Bars, Holdout, Window, joined, parse_holdout, parts, split_window
from data.errors import DataError
from data.hours import Gaps
from data.inspection import (
    Inspection,
    Quality,
    inspect_source,
    jumps_of,
    longest_gaps,
    quality_of,
    quirks_of,
)
from data.load import load_bars
from data.providers import PROVIDERS, expand_spec
from data.resample import cut_at_gaps, join_bars, resample
from data.save_bars import keep_bars
from data.table import FetchOptions, LoadOptions
from data.timeframe import format_timeframe, infer_timeframe, parse_timeframe

__all__ = [
    "PROVIDERS",
    "Bars",
    "DataError",
    "FetchOptions",
    "Gaps",
    "Holdout",
    "Inspection",
    "LoadOptions",
    "Quality",
    "Window",
    "cut_at_gaps",
    "expand_spec",
    "format_timeframe",
    "infer_timeframe",
    "inspect_source",
    "join_bars",
    "joined",
    "jumps_of",
    "keep_bars",
    "load_bars",
    "longest_gaps",
    "parse_holdout",
    "parse_timeframe",
    "parts",
    "quality_of",
    "quirks_of",
    "resample",
    "split_window",
]
