"""A member of a recorded run on the newest bars of its source, read repeatedly."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from data import cut_at_gaps, parse_timeframe
from data.bars import Bars, parse_time
from data.checks import VALUES, Ints, format_time
from data.errors import WindowError
from data.shell import write_command
from data.timeframe import WEEK_NS
from engine.certificate import data_hash
from optimizer.errors import ConfigError
from optimizer.evidence.expectation import ExpectedRecord
from optimizer.evidence.judgement import (
    choose_member,
    derive_member_verdict,
    derive_verdict,
    describe_expected,
    expect_member,
    read_judgement,
)
from optimizer.evidence.verdict import Verdict
from optimizer.formatting import format_count
from optimizer.run.purposes import SIGNAL, is_opened, recorded_config, restore_task
from optimizer.run.record import read_identity
from optimizer.run.tables import newest_front, require_result
from optimizer.run.task import Task
from optimizer.signals.account import TradeChain, build_account
from optimizer.signals.records import SymbolState
from optimizer.signals.state import read_states
from optimizer.signals.today import SignalStep, find_todays_genes
from optimizer.signals.unrecorded import Findings, describe_unrecorded, open_to_record
from optimizer.store import RunStore
from optimizer.store.payload import Payload
from optimizer.store.result import RunResult
from strategy.gene import GeneText

NO_ORDER = "This places no order."

MOST_MISSED, RHYTHM_WEEKS = 3, 3
"""Bars after which a symbol is stale, and weeks whose bars say whether a market was open."""


@dataclass(frozen=True, kw_only=True)
class Signal(Payload):
    """States of a member of a run on all symbols."""

    what: ClassVar[str] = "a signal"

    run: str
    member: int | None  # None for today's genes of a schedule
    strategy: str
    genes: Mapping[str, GeneText]
    verdict: Verdict
    now: str  # the clock
    symbols: tuple[SymbolState, ...]
    # Expected mean R of the member; None if unknown, and for a schedule.
    expected: ExpectedRecord | None = None
    outlook: str = ""  # sentence on that, or how to find it out; empty of no result
    step: SignalStep | None = None  # of a schedule; None of a member
    notes: tuple[str, ...] = ()
    about: str = NO_ORDER

    @property
    def is_due(self) -> bool:
        """True if something is to be done at a next open, of a symbol that was searched."""
        return any(state.is_due and state.is_searched for state in self.symbols)

    @property
    def is_void(self) -> bool:
        """True if a symbol is stale or was never searched."""
        return any(state.is_stale or not state.is_searched for state in self.symbols)

    @property
    def is_in_trade(self) -> bool:
        """True if a position is open."""
        return any(state.trade is not None for state in self.symbols)


SINCE_READING = "since the last reading"
"""Words of a note on what happened between two readings."""


class SignalSource:
    """Reads the state of a member; bars of the reading before are remembered.

    Without a number it is the pick, or today's genes of a schedule, whose due search is made
    if it `may_search`. `flags` say where the data is now, and how it is read.
    """

    def __init__(
        self,
        path: Path,
        member: int | None,
        flags: Mapping[str, object],
        *,
        may_search: bool = True,
    ) -> None:
        self._path, self._member, self._flags = path, member, flags
        self._may_search = may_search
        self._before: dict[str, Bars] = {}
        self._findings: Findings = []

    def read(self, now_ns: int) -> Signal:
        """State by a clock, nanoseconds UTC.

        Raises:
            ConfigError: When there is no such member, no bar has closed, or the newest closed one
                was held out and not opened.
            StoreError: When the run has no result, or its members would trade otherwise now.
            DataError: When the bars cannot be read.
        """
        with RunStore.open(self._path) as store:
            result, judgement = require_result(store), read_judgement(store)
            task = restore_task(store, SIGNAL, self._flags)
            config = recorded_config(store, self._flags)
            chains = list(list_chains(task, result, config.max_gap, now_ns))
            made = None if judgement is None or self._member is not None else judgement.schedule
            if made is not None and (task.spec.entry is not None or task.spec.reverse):
                raise ConfigError(
                    f"run '{store.run_id}' is a schedule whose entries rest or reverse: which "
                    "order of an earlier step still stands cannot be stated yet; name a member "
                    f"of its front, {store.run_id}:0"
                )
            if not is_opened(store):
                _refuse_held_out(store, result, chains, is_past_refused=made is not None)
            notes = [*self._note_corrected(chains)]
            if config.end is None and config.max_gap is None:
                notes += _note_run_bars(store, task, result)
            member = genome = None
            if made is None:
                front = newest_front(store).genomes
                member = choose_member(store, len(front), self._member)
                genome = front[member]
        self._before = {chain.symbol: chain.bars for chain in chains}
        today = None
        if made is not None:
            may_search, path = self._may_search, self._path
            opened = open_to_record(path, self._findings) if may_search else RunStore.open(path)
            with opened as store:
                today = find_todays_genes(
                    store, task, made, chains, config.parts, may_search=may_search
                )
            notes += [describe_unrecorded(path)] if self._findings else []
            genome = today.genome
        account = build_account(task, chains)
        if today is not None:
            traded = today.trade(account)
        else:
            assert genome is not None, "without a schedule there is a member"
            traded = account.trade(genome)
        return Signal(
            run=self._path.name,
            member=member,
            strategy=task.spec.name,
            genes={} if genome is None else task.spec.layout.show(genome),
            verdict=(
                derive_verdict(result, judgement)
                if member is None
                else derive_member_verdict(result, judgement, member)
            ),
            expected=None if member is None else expect_member(result, judgement, member),
            outlook="" if member is None else describe_expected(result, judgement, member),
            now=format_time(now_ns - now_ns % 10**9),
            symbols=read_states(account, genome, chains, traded, now_ns),
            step=None if today is None else today.step,
            notes=tuple(notes),
        )

    def _note_corrected(self, chains: Sequence[TradeChain]) -> Iterator[str]:
        """A line for each symbol with closed bars that changed since the last reading."""
        for chain in chains:
            before = self._before.get(chain.symbol)
            corrected = [] if before is None else list_corrected(before, chain.bars)
            if corrected:
                yield (
                    f"{chain.symbol}: {format_count(len(corrected), 'closed bar')} corrected "
                    f"{SINCE_READING}, the first of {format_time(corrected[0])}"
                )


def read_clock(text: str | None) -> int:
    """Nanoseconds UTC of a time that was named, or else now."""
    if text is None:
        return time.time_ns()
    try:
        return parse_time(text)
    except WindowError as error:
        raise ConfigError(f"--now {error}") from None


def list_new_notes(notes: Sequence[str], before: Sequence[str]) -> list[str]:
    """Lines that the reading before did not tell, and each correction, which happens anew."""
    return [line for line in notes if line not in before or SINCE_READING in line]


def list_corrected(before: Bars, now: Bars) -> list[int]:
    """Opens of closed bars that have changed, nanoseconds UTC, ascending.

    Lost and inserted bars are among them; later ones are not.
    """
    rows_before, rows_now = (
        dict(zip(bars.timestamp.tolist(), zip(*_list_values(bars), strict=True), strict=True))
        for bars in (before, now)
    )
    span = int(before.timestamp[0]), int(before.timestamp[-1])
    inside = {time for time in rows_now if span[0] <= time <= span[1]}
    times = sorted(inside | rows_before.keys())
    return [time for time in times if rows_before.get(time) != rows_now.get(time)]


def _list_values(bars: Bars) -> list[list[float]]:
    """Columns of prices and volume, and the others, with equal NaN."""
    columns = [getattr(bars, name) for name in VALUES]
    extra = [np.where(np.isnan(column), -np.inf, column) for column in bars.extra.values()]
    return [column.tolist() for column in (*columns, *extra)]


def list_chains(
    task: Task, result: RunResult, max_gap: str | None, now_ns: int
) -> Iterator[TradeChain]:
    """Chain of each symbol on the bars that have closed by the clock."""
    markets, firsts = task.markets, _list_firsts(result)
    for number, (name, bars) in enumerate(zip(markets.names, markets.series, strict=True)):
        closes = bars.over_ns
        count = int(np.searchsorted(closes, now_ns, side="right"))
        first_ns = firsts.get(_plain_name(name))
        if not count:
            raise ConfigError(
                f"{name}: no bar has closed by {format_time(now_ns - now_ns % 10**9)}, the first "
                f"closes at {format_time(closes[0])}"
            )
        # Nothing reaches over a long gap: the part after the last one is all that counts.
        *earlier, (closed, start) = _begin_pieces(list_pieces(bars.until(count), max_gap), first_ns)
        is_there = int(closed.timestamp[start]) == first_ns
        is_stale = has_missed(closes[:count], bars.timeframe_ns, now_ns)
        yield TradeChain(
            name, number, closed, start, is_there, len(bars) - count, tuple(earlier),
            is_searched=first_ns is not None, is_stale=is_stale,
        )  # fmt: skip


def has_missed(closes: Ints, timeframe_ns: int, now_ns: int) -> bool:
    """True if a market has brought more than three bars since the newest present one.

    By the clock, unless fewer came at the same times of the weeks before: a closed market brings
    none. Bars close at `closes` [T], ascending; all times are nanoseconds UTC.
    """
    newest, late_ns = int(closes[-1]), now_ns - int(closes[-1])
    if late_ns <= MOST_MISSED * timeframe_ns:
        return False
    begins = newest - WEEK_NS * (-(-late_ns // WEEK_NS) + np.arange(RHYTHM_WEEKS))
    ends = np.stack([begins, begins + late_ns])[:, begins >= closes[0]]
    came = np.sort(np.diff(np.searchsorted(closes, ends, side="right"), axis=0)[0])
    # The middle one: neither a holiday nor a clock that changes is the rhythm.
    return len(came) == 0 or bool(came[len(came) // 2] >= MOST_MISSED)


def _plain_name(symbol: str) -> str:
    """Letters and digits of a symbol: sources write the others each in its way."""
    return "".join(filter(str.isalnum, symbol)).casefold()


def _begin_pieces(pieces: Sequence[Bars], first_ns: int | None) -> list[tuple[Bars, int]]:
    """Parts of a series, each with its first bar, from that of a moment on; all if none has it."""
    for number, piece in enumerate(pieces):
        start = int((piece.timestamp == first_ns).argmax())
        if int(piece.timestamp[start]) == first_ns:
            return [(piece, start), *((later, 0) for later in pieces[number + 1 :])]
    return [(piece, 0) for piece in pieces]


def list_pieces(bars: Bars, max_gap: str | None) -> list[Bars]:
    """Parts of a series between long gaps, which know nothing of each other; None for no gap."""
    if max_gap is None:
        return [bars]
    return [piece for _, piece in cut_at_gaps(bars, parse_timeframe(max_gap, "--max-gap"))]


def _list_firsts(result: RunResult) -> dict[str, int]:
    """When the first bar opened that the run knew, by plain name, nanoseconds UTC."""
    firsts: dict[str, int] = {}
    for window in result.data.windows:
        name, time_ns = _plain_name(window.symbol), parse_time(window.first)
        firsts[name] = min(firsts.get(name, time_ns), time_ns)
    return firsts


def _refuse_held_out(
    store: RunStore, result: RunResult, chains: Sequence[TradeChain], *, is_past_refused: bool
) -> None:
    """Refuse a newest bar that was held out: each look at such bars is counted.

    With `is_past_refused` later ones too: what searches up to them would have seen those.
    """
    newest = {_plain_name(chain.symbol): int(chain.bars.timestamp[-1]) for chain in chains}
    for window in result.data.windows:
        time_ns = newest.get(_plain_name(window.symbol))
        if not window.is_held_out or time_ns is None:
            continue
        is_in = time_ns <= parse_time(window.last) or is_past_refused
        if parse_time(window.first) <= time_ns and is_in:
            raise ConfigError(
                f"run '{store.run_id}' held out bars of {window.symbol} up to the newest, and "
                f"nobody has opened it: {write_command('judge', store.path, '--open')} counts the "
                "look"
            )


def _note_run_bars(store: RunStore, task: Task, result: RunResult) -> Iterator[str]:
    """A line where bars of the run are others now; none where that cannot be compared.

    Its series were whole, and end with its last windows.
    """
    ends: dict[str, int] = {}
    for window in result.data.windows:
        ends[window.symbol] = max(ends.get(window.symbol, 0), window.end)
    firsts = {w.symbol: (w.start, parse_time(w.first)) for w in reversed(result.data.windows)}
    series = dict(zip(task.markets.names, task.markets.series, strict=True))
    if list(series) != list(ends):
        return
    for name, bars in series.items():
        first, first_ns = firsts[name]
        if len(bars) < ends[name] or int(bars.timestamp[first]) != first_ns:
            return
    known = data_hash([bars.until(ends[name]) for name, bars in series.items()])
    if known != read_identity(store).data_hash:
        yield "bars that the run knew were corrected since, or it is another source"
