"""Drift of a run's pick: trades since the bars that it knew, on the present bars."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from data import joined
from data.bars import Bars, Window, parse_time
from data.checks import Floats, format_time
from engine.accounts.ledger import Ledger
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from optimizer.errors import ConfigError
from optimizer.evidence.drift import (
    DriftRecord,
    build_drift_reference,
    compute_drift_evidence,
    find_alarm,
)
from optimizer.evidence.folds import Range
from optimizer.evidence.judgement import Judgement, find_pick, read_judgement
from optimizer.evidence.out_of_sample import FEWEST_TRADES
from optimizer.evidence.schedule import ScheduleRecord
from optimizer.run.purposes import SIGNAL, recorded_config, restore_task
from optimizer.run.runner import on_other_bars
from optimizer.run.tables import require_result
from optimizer.run.task import Task
from optimizer.signals.account import END, TradeChain, build_account
from optimizer.signals.source import list_chains, list_pieces
from optimizer.signals.today import find_todays_genes
from optimizer.signals.unrecorded import open_to_record
from optimizer.store import RunStore
from optimizer.store.caveats import DRIFT
from optimizer.store.result import RunResult, WindowDescription
from strategy.gene import GeneText

Spans = Sequence[Range | WindowDescription]


class _Judged(NamedTuple):
    """Trades that a run is judged by."""

    source: str  # where they were
    trades: int  # how many there were by the judgement
    # The steps of a schedule, or genes, entered them, each on their own bars.
    by: ScheduleRecord | Sequence[tuple[Mapping[str, GeneText], Spans]]


def watch_run(path: Path, flags: Mapping[str, object], now_ns: int) -> DriftRecord:
    """Drift of a run's pick by a clock, recorded if it changed and the run can be written.

    `flags` say where the data is now; the run's own bars are among it.

    Raises:
        ConfigError: When too few trades on unseen bars are there to hold new ones against, or the
            run's own bars are not among these.
        StoreError: When the run has no result, is owned, or its members would trade otherwise.
    """
    with open_to_record(path, []) as store:
        result, judgement = require_result(store), read_judgement(store)
        task = restore_task(store, SIGNAL, flags)
        config = recorded_config(store, flags)
        judged = _find_judged(store, result, judgement)
        r = _replay_judged(task, judged, result, config.max_gap)
        if len(r) != judged.trades:
            raise ConfigError(
                f"run '{store.run_id}' was judged by {judged.trades} trades ({judged.source}), on "
                f"these bars there are {len(r)}: they were corrected since, or are others"
            )
        reference = build_drift_reference(r)
        if reference is None:
            raise ConfigError(f"run '{store.run_id}': the trades it is judged by do not vary")
        chains = list(list_chains(task, result, config.max_gap, now_ns))
        known_ns, account = _list_ends(result), build_account(task, chains)
        if isinstance(judged.by, ScheduleRecord):
            args = store, task, judged.by, chains, config.parts
            traded = find_todays_genes(*args, may_search=True).trade(account)
        else:
            pick = find_pick(result, judgement)
            assert pick is not None, "who was judged has a pick"
            traded = account.trade(task.spec.layout.encode(pick.genes))
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
        before = read_drift(store)
        if before is None or (before.trades, before.source) != (record.trades, record.source):
            store.add_evidence(DRIFT, record.payload())
            store.flush()
        return record


def read_drift(store: RunStore) -> DriftRecord | None:
    """Newest drift of a run; None if it was never watched."""
    rows = [row for name, row in store.evidence if name == DRIFT]
    return DriftRecord.read(rows[-1]) if rows else None


def _find_judged(store: RunStore, result: RunResult, judgement: Judgement | None) -> _Judged:
    """Trades to compare new ones with: held out, of a schedule, or of folds.

    The first kind with enough trades.
    """
    counts, judged = {"held-out bars": 0, "folds": 0}, []
    if judgement is not None:
        held_out, made, folds = judgement.held_out, judgement.schedule, judgement.folds
        if held_out is not None and judgement.pick is not None:
            counts["held-out bars"] = held_out.trades
            # The steps of a schedule traded there; new trades are compared with earlier ones.
            if not held_out.by_steps:
                part = judgement.pick.genes, result.data.held_out
                judged.append(_Judged("held-out bars", held_out.trades, [part]))
        if made is not None:
            counts["schedule"] = made.trades
            judged.append(_Judged("schedule", made.trades, made))
        if folds is not None:
            counts["folds"] = folds.trades
            parts = [(row.genes, row.test) for row in folds.rows if row.genes]
            judged.append(_Judged("folds", folds.trades, parts))
    for each in judged:
        if each.trades >= FEWEST_TRADES:
            return each
    listed = ", ".join(f"{count} of {where}" for where, count in counts.items())
    raise ConfigError(
        f"run '{store.run_id}' has too few trades on bars that no search saw to hold new ones "
        f"against: {listed}, {FEWEST_TRADES} are needed"
    )


def _replay_judged(task: Task, judged: _Judged, result: RunResult, max_gap: str | None) -> Floats:
    """R of the trades that a run is judged by, part after part, [n]."""
    markets, form = task.markets, CompiledForm()
    named = [
        (name, piece)
        for name, bars in zip(markets.names, markets.series, strict=True)
        for piece in list_pieces(bars, max_gap)
    ]
    pieces = [piece for _, piece in named]
    if isinstance(judged.by, ScheduleRecord):
        whole = [replace(window, role="search") for window in _find(named, result.data.searched)]
        longer = on_other_bars(task, pieces, joined(whole))
        return np.concatenate([ledger.r for ledger in judged.by.trade(longer).stitched.ledgers])
    listed = []
    for genes, spans in judged.by:
        reference = Reference(task.spec, pieces, _find(named, spans), task.costs, form=form)
        listed += [ledger.r for ledger in reference.trades(task.spec.layout.encode(genes))]
    return np.concatenate(listed)


def _find(named: Sequence[tuple[str, Bars]], spans: Spans) -> list[Window]:
    """Windows of spans of bars, in parts of series with the name of each one's market."""
    windows = []
    for span in spans:
        opens = [parse_time(span.first), parse_time(span.last)]
        for number, (name, bars) in enumerate(named):
            start, end = np.searchsorted(bars.timestamp, opens).tolist()
            is_there = name == span.symbol and end < len(bars)
            if is_there and bars.timestamp[[start, end]].tolist() == opens:
                windows.append(Window(number, start, end + 1))
                break
        else:
            raise ConfigError(
                f"{span.symbol}: the bars from {span.first} to {span.last}, by which the run is "
                "judged, are not among these: name them too"
            )
    return windows


def _list_ends(result: RunResult) -> dict[str, int]:
    """Open of the last bar that the run knew, by symbol, nanoseconds UTC."""
    ends: dict[str, int] = {}
    for window in result.data.windows:
        ends[window.symbol] = max(ends.get(window.symbol, 0), parse_time(window.last))
    return ends


def _list_new(
    chains: Sequence[TradeChain], ledgers: Sequence[Ledger], known_ns: Mapping[str, int]
) -> Floats:
    """R of the trades that were entered since, as they closed, [n]."""
    latest, rows = max(known_ns.values()), []
    for chain, ledger in zip(chains, ledgers, strict=True):
        times = chain.bars.timestamp
        is_new = times[ledger.entry_bar] > known_ns.get(chain.symbol, latest)
        new = ledger.keep(is_new & (ledger.reason != END))
        closed = zip(times[new.exit_bar].tolist(), new.r.tolist(), strict=True)
        rows += [(time_ns, chain.series, r) for time_ns, r in closed]
    rows.sort(key=itemgetter(0, 1))
    return np.array([r for *_, r in rows])
