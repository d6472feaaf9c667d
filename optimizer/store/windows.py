"""Windows that overlap, and numbers over several of them, in words."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from optimizer.formatting import format_count
from optimizer.goals.constraints import MEAN, POOLED
from optimizer.store.result import WindowDescription, choose_noun


class _SymbolSpan(Protocol):
    """Bars of a symbol, by the times of the first and the last."""

    @property
    def symbol(self) -> str: ...
    @property
    def first(self) -> str: ...
    @property
    def last(self) -> str: ...


def overlap(some: Sequence[_SymbolSpan], others: Sequence[_SymbolSpan]) -> bool:
    """True if spans of one symbol share a time; ISO times are in order as texts."""
    return any(
        bars.symbol == other_bars.symbol
        and bars.first <= other_bars.last
        and other_bars.first <= bars.last
        for bars in some
        for other_bars in others
    )


def list_searched_windows(windows: Iterable[WindowDescription]) -> list[WindowDescription]:
    """Windows that are not held out."""
    return [window for window in windows if not window.is_held_out]


def describe_windows(windows: Sequence[WindowDescription], over: str) -> str:
    """Meaning of numbers over several windows, in words; empty where there is one.

    Args:
        windows: Those that a candidate is shown on, none of them held out.
        over: Rule by which they are taken together.
    """
    if len(windows) < 2:
        return ""
    noun = choose_noun(windows)
    count = format_count(len(windows), noun)
    if over == MEAN:
        return f"each number is the mean of {format_count(len(windows), 'account')}, one a {noun}"
    if over == POOLED:
        return f"all trades of {count} are one account"
    return f"objectives are the {over} of {count}, other numbers means"
