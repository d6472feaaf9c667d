"""Drift of a run's pick: trades since the bars that it knew, on those that there are now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from data import joined
from data.bars import Bars, Window, parse_time
from data.checks import Floats, format_time
from engine.accounts.ledger import REASONS, Ledger
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from optimizer.errors import ConfigError
from optimizer.evidence.drift import (
    DriftRecord,
    build_drift_reference,
    compute_drift_evidence,
    find_alarm,
)
from optimizer.evidence.judgement import Judgement, find_pick, read_judgement
from optimizer.evidence.out_of_sample import FEWEST_TRADES
from optimizer.evidence.schedule import ScheduleRecord
from optimizer.run.purposes import SIGNAL, recorded_config, restore_task
from optimizer.run.search import on_other_bars
from optimizer.run.tables import require_result
from optimizer.run.task import Task
from optimizer.signals.account import TradeChain, build_account
from optimizer.signals.source import list_chains, list_pieces
from optimizer.signals.today import find_todays_genes
from optimizer.signals.unrecorded import open_to_record
from optimizer.store import RunStore
from optimizer.store.answers import DRIFT
from optimizer.store.result import RunResult

END = REASONS.index("end")

Part = tuple[Floats, Sequence[tuple[str, str, str]]]
"""Genome [G], and the bars that it was judged on: symbol, opens of the first and the last."""


@dataclass(frozen=True)
class _Judged:
    """Trades that a run is judged by."""

    source: str  # where they were
    trades: int  # how many there were by the judgement
    parts: tuple[Part, ...] = ()
    schedule: ScheduleRecord | None = None  # whose steps entered them; None where parts did


def watch_run(path: Path, flags: Mapping[str, object], now_ns: int) -> DriftRecord:
    """Drift of a run's pick by a clock, recorded where it is another than before, if it may be.

    Args:
        path: The run.
        flags: Say where the data is now; the run's own bars are among it.
        now_ns: Nanoseconds UTC.

    Raises:
        ConfigError: When too few trades on unseen bars are there to hold new ones against, or the
            run's own bars are not among these.
        StoreError: When the run has no result, is owned, or its members would trade otherwise.
    """
    with open_to_record(path, []) as store:
        result, judgement = require_result(store), read_judgement(store)
        task = restore_task(store, SIGNAL, flags)
        config = recorded_config(store, flags)
        max_gap = config.max_gap
        judged = _find_judged(store, task, result, judgement)
        made = judged.schedule
        if made is None:
            r = _replay_judged(task, judged, max_gap)
        else:
            r = _replay_schedule(task, made, result, max_gap)
        if len(r) != judged.trades:
            raise ConfigError(
                f"run '{store.run_id}' was judged by {judged.trades} trades ({judged.source}), on "
                f"these bars there are {len(r)}: they were corrected since, or are others"
            )
        reference = build_drift_reference(r)
        if reference is None:
            raise ConfigError(f"run '{store.run_id}': the trades it is judged by do not vary")
        chains = list(list_chains(task, result, max_gap, now_ns))
        known_ns, account = _list_ends(result), build_account(task, chains)
        if made is None:
            pick = find_pick(result, judgement)
            assert pick is not None, "who was judged has a pick"
            traded = account.trade(task.spec.layout.encode(pick.genes))
        else:
            today = find_todays_genes(store, task, made, chains, config.parts, may_search=True)
            traded = today.trade(account)
        new = _list_new(chains, [each.ledger for each in traded], known_ns)
        evidence = compute_drift_evidence(reference, new)
        last = max(int(chain.bars.over_ns[-1]) for chain in chains)
        record = DriftRecord(
            source=judged.source,
            reference_trades=len(r),
            least_mean=reference.least_mean,
            top=reference.top,
            since=format_time(max(known_ns.values())),
            until=format_time(last),
            trades=len(new),
            mean_r=float(new.mean()) if len(new) else None,
            evidence=float(evidence[-1]) if len(new) else 1.0,
            alarm_at=find_alarm(evidence),
        )
        _record(store, record)
        return record


def read_drift(store: RunStore) -> DriftRecord | None:
    """Newest drift of a run; None where it was never watched.

    Raises:
        StoreError: When its row is damaged.
    """
    rows = [row for name, row in store.evidence if name == DRIFT]
    return DriftRecord.read(rows[-1]) if rows else None


def _record(store: RunStore, record: DriftRecord) -> None:
    before = read_drift(store)
    if before is None or (before.trades, before.source) != (record.trades, record.source):
        store.add_evidence(DRIFT, record.payload())
        store.flush()


def _find_judged(
    store: RunStore, task: Task, result: RunResult, judgement: Judgement | None
) -> _Judged:
    """Trades that new ones are held against: held out, of a schedule, or of folds.

    The first of which there are enough.
    """
    layout = task.spec.layout
    known = {"held-out bars": 0, "folds": 0}
    if judgement is not None and judgement.held_out is not None and judgement.pick is not None:
        known["held-out bars"] = judgement.held_out.trades
        # Of a schedule the steps traded there; new trades are held against those before.
        if judgement.held_out.trades >= FEWEST_TRADES and not judgement.held_out.by_steps:
            bars = [(window.symbol, window.first, window.last) for window in result.data.held_out]
            part = (layout.encode(judgement.pick.genes), bars)
            return _Judged("held-out bars", judgement.held_out.trades, (part,))
    if judgement is not None and judgement.schedule is not None:
        known["schedule"] = judgement.schedule.trades
        if judgement.schedule.trades >= FEWEST_TRADES:
            return _Judged("schedule", judgement.schedule.trades, schedule=judgement.schedule)
    if judgement is not None and judgement.folds is not None:
        known["folds"] = judgement.folds.trades
        if judgement.folds.trades >= FEWEST_TRADES:
            parts = tuple(
                (layout.encode(row.genes), [(t.symbol, t.first, t.last) for t in row.test])
                for row in judgement.folds.rows
                if row.genes
            )
            return _Judged("folds", judgement.folds.trades, parts)
    counts = ", ".join(f"{count} of {where}" for where, count in known.items())
    raise ConfigError(
        f"run '{store.run_id}' has too few trades on bars that no search saw to hold new ones "
        f"against: {counts}, {FEWEST_TRADES} are needed"
    )


def _replay_judged(task: Task, judged: _Judged, max_gap: str | None) -> Floats:
    """R of the trades that a run is judged by, part after part, [n]."""
    names, pieces = _list_named_pieces(task, max_gap)
    listed = []
    for genome, ranges in judged.parts:
        windows = [_find_window(names, pieces, *span) for span in ranges]
        reference = Reference(task.spec, pieces, windows, task.costs, form=CompiledForm())
        listed += [ledger.r for ledger in reference.trades(genome)]
    return np.concatenate(listed)


def _list_named_pieces(task: Task, max_gap: str | None) -> tuple[list[str], list[Bars]]:
    """Parts of all series between long gaps, with the name of each one's market."""
    names: list[str] = []
    pieces: list[Bars] = []
    for name, bars in zip(task.markets.names, task.markets.series, strict=True):
        for piece in list_pieces(bars, max_gap):
            names.append(name)
            pieces.append(piece)
    return names, pieces


def _find_window(
    names: Sequence[str], pieces: Sequence[Bars], symbol: str, first: str, last: str
) -> Window:
    """Window of the bars from one open to another."""
    opens = np.array([parse_time(first), parse_time(last)])
    for number, (name, bars) in enumerate(zip(names, pieces, strict=True)):
        start, end = np.searchsorted(bars.timestamp, opens).tolist()
        if name == symbol and end < len(bars) and bars.timestamp[[start, end]].tolist() == [*opens]:
            return Window(number, start, end + 1)
    raise ConfigError(
        f"{symbol}: the bars from {first} to {last}, by which the run is judged, are not among "
        "these: name them too"
    )


def _list_ends(result: RunResult) -> dict[str, int]:
    """Open of the last bar that the run knew, by symbol, nanoseconds UTC."""
    ends: dict[str, int] = {}
    for window in result.data.windows:
        ends[window.symbol] = max(ends.get(window.symbol, 0), parse_time(window.last))
    return ends


def _replay_schedule(
    task: Task, made: ScheduleRecord, result: RunResult, max_gap: str | None
) -> Floats:
    """R of the trades of all steps on the bars that the run searched, [n]."""
    names, pieces = _list_named_pieces(task, max_gap)
    whole = [
        _find_window(names, pieces, window.symbol, window.first, window.last)
        for window in result.data.searched
    ]
    windows = joined([replace(window, role="search") for window in whole])
    stitched = made.trade(on_other_bars(task, pieces, windows)).stitched
    return np.concatenate([ledger.r for ledger in stitched.ledgers])


def _list_new(
    chains: Sequence[TradeChain], ledgers: Sequence[Ledger], known_ns: Mapping[str, int]
) -> Floats:
    """R of the trades that were entered since, as they closed, [n]."""
    latest = max(known_ns.values())
    rows: list[tuple[int, int, float]] = []
    for chain, ledger in zip(chains, ledgers, strict=True):
        rows += _list_closed(ledger, chain, known_ns.get(chain.symbol, latest))
    rows.sort(key=lambda row: row[:2])
    return np.array([r for *_, r in rows])


def _list_closed(
    ledger: Ledger, chain: TradeChain, after_ns: int
) -> Iterator[tuple[int, int, float]]:
    """Open of the exit bar, number of the series and R of each trade that was entered since."""
    times = chain.bars.timestamp
    for k in range(len(ledger)):
        trade = ledger.trade(k)
        if int(times[trade.entry_bar]) > after_ns and trade.reason != END:
            yield int(times[trade.exit_bar]), chain.series, trade.r
