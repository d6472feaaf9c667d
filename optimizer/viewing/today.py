"""The page *today*: where each followed run stands on its newest closed bars, and what to place."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from data.bars import parse_time
from data.errors import DataError
from engine.errors import EngineError
from optimizer.errors import OptimizerError
from optimizer.evidence.drift import DriftRecord
from optimizer.formatting import GRADE_WORDS, format_count
from optimizer.signals.drift import read_drift
from optimizer.signals.records import SymbolState
from optimizer.signals.source import Signal, SignalSource
from optimizer.signals.words import describe_order, describe_state, format_age, list_warnings
from optimizer.store import RunStore
from optimizer.store.labels import Labels
from optimizer.store.listing import RunSummary
from strategy.errors import StrategyError

FOLLOW = "follow"
"""Tag of runs that a person follows."""

MOST_FOLLOWED = 20

Cell = tuple[str, str]
"""Text and tone."""

COLUMNS = ("symbol", "state", "to place", "R now", "drift", "next search")

TONES = {"in a trade": "gain", "enter": "due", "order": "due", "full": "mild", "stale": "grave"}
"""Of states; one that is flat has none."""

FOREIGN = (OptimizerError, DataError, EngineError, StrategyError, OSError)


def list_followed(runs: Sequence[RunSummary]) -> list[RunSummary]:
    """Finished runs that are schedules, watched, or tagged `FOLLOW`, newest first.

    A damaged one stands among them, with the sentence on it.
    """
    known = (run for run in reversed(runs) if run.front_size or run.damaged)
    return [run for run in known if run.is_schedule or run.drift or Labels(run.tags).has(FOLLOW)]


def read_today(path: Path, read_clock: Callable[[], int] = time.time_ns) -> Mapping[str, object]:
    """Lines of a run, a symbol each, as `signal` has them; or the sentence why there are none.

    No search that is due is made, and nothing is recorded.
    """
    now_ns = read_clock()
    try:
        reading = SignalSource(path, None, {}, may_search=False).read(now_ns)
        with RunStore.open(path) as store:
            drift = read_drift(store)
    except FOREIGN as error:
        return {"problem": " ".join(str(error).split())}
    grade = reading.verdict.grade
    states = sorted(reading.symbols, key=lambda state: state.state == "flat")
    of_run = [_describe_drift(drift), _describe_search(reading, now_ns)]
    rows = [_build_row(reading, state, of_run) for state in states]
    return {"grade": grade, "word": GRADE_WORDS[grade], "rows": rows}


def _build_row(reading: Signal, state: SymbolState, of_run: Sequence[Cell]) -> Mapping[str, object]:
    """Cells in `COLUMNS`, the last ones those of the run, and all sentences of `signal`."""
    r = None if state.trade is None else state.trade.r
    cells = (
        (state.symbol, ""),
        (state.state, TONES.get(state.state, "")),
        ("unknown" if state.is_stale else describe_order(state), "due" if state.is_due else ""),
        ("-" if r is None else f"{r:.2f}", "" if not r else "gain" if r > 0 else "loss"),
        *of_run,
    )
    lines = [*list_warnings([state], reading.now)]
    lines += [] if state.is_stale else describe_state(state)
    return {"cells": cells, "lines": lines}


def _describe_drift(drift: DriftRecord | None) -> Cell:
    if drift is None:
        return "-", ""
    trades = format_count(drift.trades, "trade")
    return (f"no alarm, {trades}", "") if drift.alarm_at is None else (f"ALARM, {trades}", "grave")


def _describe_search(reading: Signal, now_ns: int) -> Cell:
    """Time to the next search of a schedule, since when one is due, or which bars it waits for."""
    step = reading.step
    if step is None:
        return "-", ""
    if step.due is not None:
        return f"due since {step.due[:10]}", "due"
    wait_ns = parse_time(step.next_date) - now_ns
    # By the clock it is due, but the bars end before.
    if wait_ns <= 0:
        return f"once bars reach {step.next_date[:10]}", ""
    return f"in {format_age(wait_ns / 1e9)}", ""
