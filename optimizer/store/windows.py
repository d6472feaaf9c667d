"""Numbers over several windows, in words."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from optimizer.formatting import format_count
from optimizer.goals.constraints import MEAN, POOLED
from optimizer.store.result import RunResult, WindowDescription, choose_noun

WORST_OF_WINDOWS = ("max_drawdown", "max_drawdown_r", "calmar", "calmar_simple")
"""Metrics that rested on the deepest fall of any window where several were pooled."""

ONE_ACCOUNT = 5
"""The engine version from which on windows that are pooled are one account, falls included."""

POOLED_PARTS = f"{POOLED} parts"
"""Rule by which former versions took them together."""


def find_window_rule(result: RunResult) -> str:
    """Rule by which a result takes windows together, for `describe_windows` and `name_metric`."""
    is_former = result.certificate.engine_version < ONE_ACCOUNT
    return POOLED_PARTS if is_former and result.over_windows == POOLED else result.over_windows


def list_searched_windows(windows: Iterable[WindowDescription]) -> list[WindowDescription]:
    """Windows that are not held out."""
    return [window for window in windows if not window.is_held_out]


class _SymbolSpan(Protocol):
    """Bars of a symbol, by the times of the first and the last."""

    @property
    def symbol(self) -> str: ...
    @property
    def first(self) -> str: ...
    @property
    def last(self) -> str: ...


def overlap(some: Sequence[_SymbolSpan], others: Sequence[_SymbolSpan]) -> bool:
    """Whether spans of one symbol share a time; ISO times are in order as texts."""
    return any(
        bars.symbol == other_bars.symbol
        and bars.first <= other_bars.last
        and other_bars.first <= bars.last
        for bars in some
        for other_bars in others
    )


def describe_windows(windows: Sequence[WindowDescription], over: str) -> str:
    """Meaning of numbers over several windows, in words; empty where there is one.

    Args:
        windows: Those that a candidate is shown on, none of them held out.
        over: Rule by which they are taken together, of a result from `find_window_rule`.
    """
    if len(windows) < 2:
        return ""
    noun = choose_noun(windows)
    count = format_count(len(windows), noun)
    if over == MEAN:
        return f"each number is the mean of {format_count(len(windows), 'account')}, one a {noun}"
    if over == POOLED:
        return f"all trades of {count} are one account"
    if over != POOLED_PARTS:
        return f"objectives are the {over} of {count}, other numbers means"
    return (
        f"all trades of {count} are one account; max_drawdown is that of the worst {noun}, "
        "max_drawdown_marked of the whole account"
    )


def name_metric(name: str, windows: Sequence[WindowDescription], over: str) -> str:
    """A metric with what it is where falls are those of the worst window."""
    is_worst = over == POOLED_PARTS and len(windows) > 1 and name in WORST_OF_WINDOWS
    return f"{name} (worst {choose_noun(windows)})" if is_worst else name
