"""Members before cuts, on bars that are others behind: what must be as on the bars as they are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product, repeat
from typing import NamedTuple

import numpy as np

from data import Bars, Window
from data.checks import Flags, Floats, Ints, format_time
from engine.accounts.ledger import Ledger
from engine.batch import Engine
from engine.memory_plan import allow_host_bytes
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.cpu.row_memory import keeping_row_memory
from engine.runtime.machine import available_cores
from optimizer.config.run_config import RunConfig
from optimizer.evidence.lookahead import (
    WAYS,
    Way,
    compare_bits,
    count_answers,
    is_beginning,
    poison_bars,
)
from optimizer.run.task import Task
from strategy.expressions import GeneValue
from strategy.rows import resolve_value

MOST_JOBS_AT_ONCE = 4
"""Jobs that are evaluated side by side: more of them wait for the interpreter."""

CUT_BAR_BYTES = 800
"""Of a bar of a cut, about: copies of it, what is computed of them, and rows of one member."""

KEPT_READERS = 16
"""Members whose rows on true bars are kept."""

NEVER_NS = 2**62


class Cut(NamedTuple):
    """Windows up to the first bar of each that is not known; several are one account."""

    windows: tuple[Window, ...]
    places: tuple[int, ...]  # of them among all windows

    def name(self, task: Task, *, is_account: bool) -> str:
        """Where it is, for a person."""
        window = self.windows[-1]
        if is_account:
            return format_time(task.markets.series[window.series].over_ns[window.end - 1])
        return f"bar {window.end} of {task.markets.names[window.series]}"


class Job(NamedTuple):
    """Cuts at which some members are evaluated together."""

    cuts: tuple[Cut, ...]
    members: Ints  # [M] numbers
    readers: Ints  # places among them of those whose rows are compared
    whole: Sequence[Ledger] = ()  # ledgers [W] of the only member, where its trades are compared


class CutAnswers(NamedTuple):
    """What members [M] come to at a cut."""

    known: Floats  # [M, W, A] accumulators before it, and of the account where it is one
    following: Floats  # [M, W, A] with the bars behind it
    ledgers: Sequence[Ledger]  # [W] with the bars behind it, where trades are compared


Seen = tuple[dict[tuple[int, Way], CutAnswers], list[tuple[int, int]]]
"""Answers at places of cuts, in each way; and places of cuts and members whose rows differ."""


class Proof:
    """Cuts of a task, and an engine of its bars as they are, for genomes [F, G]."""

    def __init__(
        self, task: Task, engine: Engine, genomes: Floats, *, is_account: bool = False
    ) -> None:
        self._task, self._engine, self._genomes = task, engine, genomes
        self._is_account, self._rests = is_account, task.spec.entry is not None
        delay = task.spec.delay
        own = delay.gene.low if isinstance(delay, GeneValue) else resolve_value(delay, {})
        # Bars behind a cut at whose opens those enter that were signalled before it.
        self._late = 0 if is_account else task.costs.entry_delay + int(own)
        # It may not hold the proof, and with it an engine, in a circle.
        self._true_rows = lru_cache(KEPT_READERS)(partial(_read_true_rows, task, genomes))

    def find(self, planned: Iterable[Job]) -> Iterator[tuple[int, int, str]]:
        """Of each job the number of its cuts, at how many of them members differ, and the first."""
        jobs = [job for job in planned if job.cuts]
        with keeping_row_memory():
            true = [self._ask(self._engine, job, job.cuts) for job in jobs]
            for job, known, seen in zip(jobs, true, self._evaluate_jobs(jobs), strict=True):
                answers, readers = seen
                differ = np.zeros((len(job.members), len(job.cuts)), np.bool_)
                for (place, way), answer in answers.items():
                    differ[:, place] |= self._compare(job, place, way, known[place], answer)
                for place, row in readers:
                    differ[row, place] = True
                yield len(job.cuts), int(differ.sum()), self._describe(job, differ)

    def _describe(self, job: Job, differ: Flags) -> str:
        """Where members first differ, and what of them reads later bars; empty where none do."""
        if not differ.any():
            return ""
        place = int(differ.any(axis=0).argmax())
        row = int(differ[:, place].argmax())
        where = job.cuts[place].name(self._task, is_account=self._is_account)
        member = int(job.members[row])
        if self._is_account:
            return f"{where}, in the account's room of member {member}"
        changed = [self._change(job.cuts[place], way)[0] for way in WAYS]
        reader = self._find_readers(job.cuts[place], member, changed) or "no row, but the trades"
        return f"{where}, in {reader} of member {member}"

    def _compare(
        self, job: Job, place: int, way: Way, known: CutAnswers, seen: CutAnswers
    ) -> Flags:
        """Whether members [M] differ at a cut in what was known before it."""
        cut, differ = job.cuts[place], np.zeros(len(job.members), np.bool_)
        if way != "open":
            differ |= ~compare_bits(known.known, seen.known)
        series = [self._task.markets.series[window.series] for window in cut.windows]
        opens = [
            int(bars.timestamp[min(window.end + self._late, len(bars) - 1)])
            if window.end < len(bars)
            else NEVER_NS
            for bars, window in zip(series, cut.windows, strict=True)
        ]
        is_next = np.array(opens) == min(opens)
        # Whether a reversal is rejected, and the position stays, hangs on the price of its entry.
        if way == "open" or not (self._late or self._task.spec.reverse):
            answers = (
                count_answers(each.following[:, is_next], way, rests=self._rests)[
                    # Those that leave by condition at later bars behind the cut are wrong.
                    ..., int(self._late > 0) :
                ]
                for each in (known, seen)
            )
            differ |= (np.not_equal(*answers)).any(axis=(1, 2))
        if way == "open" and job.whole:
            for window, whole, bars, ledger in zip(
                cut.windows, cut.places, series, seen.ledgers, strict=True
            ):
                if window.end == self._task.markets.windows[whole].end:
                    # The whole ledger ends here as well.
                    continue
                # What rests may be entered at another price, behind the cut.
                entered = int(np.searchsorted(bars.timestamp, min(opens) + (not self._rests)))
                of_all = job.whole[whole if self._is_account else 0]
                differ |= not is_beginning(ledger, of_all, window.end, entered)
        return differ

    def _ask(self, engine: Engine, job: Job, cuts: Sequence[Cut]) -> list[CutAnswers]:
        """What members of a job come to at cuts, whose windows are of an engine's series."""
        if self._is_account and len(cuts) > 1:
            return [self._ask(engine, job, [cut])[0] for cut in cuts]
        windows = [window for cut in cuts for window in cut.windows]
        genomes = self._genomes[job.members]
        before, after = engine.on(windows), engine.on(self._extend_windows(engine, windows))
        ledgers = after.trades(genomes[0]) if job.whole else ()
        if self._is_account:
            known, joint = before.evaluate_account(genomes)
            following, _ = after.evaluate_account(genomes)
            return [CutAnswers(np.append(known, joint[:, None], axis=1), following, ledgers)]
        known, following = before.evaluate(genomes), after.evaluate(genomes)
        return [
            CutAnswers(known[:, [k]], following[:, [k]], ledgers[k : k + 1])
            for k in range(len(cuts))
        ]

    def _extend_windows(self, engine: Engine, windows: Sequence[Window]) -> list[Window]:
        """Windows with the bars behind them, where they are no beginning of a later one."""
        ends = {window.series: 0 for window in windows}
        for window in windows:
            ends[window.series] = max(ends[window.series], window.end)
        return [
            replace(window, end=min(window.end + 1 + self._late, len(engine.series[window.series])))
            if window.end == ends[window.series] or not self._is_account
            else window
            for window in windows
        ]

    def _evaluate_jobs(self, jobs: Sequence[Job]) -> Iterator[Seen]:
        """What is seen at the cuts of each job, several of them side by side.

        Much of a cut is checking and copying bars, which one core does.
        """
        task, series = self._task, self._task.markets.series
        cores, free = available_cores(task.config.threads), allow_host_bytes()
        bars = max(len(job.cuts) for job in jobs) * len(WAYS) * max(map(len, series))
        fit = free // (CUT_BAR_BYTES * bars)
        # A person's own code may not be made for threads.
        at_once = 1 if task.spec.own else max(1, min(cores, len(jobs), MOST_JOBS_AT_ONCE, fit))
        shared = {"threads": cores // at_once, "memory": free // at_once}
        config = task.config.model_copy(update=shared)
        if at_once == 1:
            # In the caller's own thread, where a signal ends it.
            yield from (self._evaluate_job(job, config) for job in jobs)
            return
        pool = ThreadPoolExecutor(at_once, "cuts")
        try:
            yield from pool.map(self._evaluate_job, jobs, repeat(config))
        finally:
            pool.shutdown(cancel_futures=True)

    def _evaluate_job(self, job: Job, config: RunConfig) -> Seen:
        ways = [(place, way) for place in range(len(job.cuts)) for way in WAYS]
        changed = [self._change(job.cuts[place], way) for place, way in ways]
        answers: list[CutAnswers] = []
        if self._is_account:
            for (place, _), series in zip(ways, changed, strict=True):
                engine = self._build_engine(series, job.cuts[place].windows, config)
                answers += self._ask(engine, job, job.cuts[place : place + 1])
            return dict(zip(ways, answers, strict=True)), []
        cuts = [
            Cut((replace(job.cuts[place].windows[0], series=number),), ())
            for number, (place, _) in enumerate(ways)
        ]
        series = [one for (one,) in changed]
        engine = self._build_engine(series, [cut.windows[0] for cut in cuts], config)
        readers = [
            (place, row)
            for place, row in product(range(len(job.cuts)), job.readers.tolist())
            if self._find_readers(
                job.cuts[place],
                int(job.members[row]),
                series[len(WAYS) * place : len(WAYS) * (place + 1)],
            )
        ]
        return dict(zip(ways, self._ask(engine, job, cuts), strict=True)), readers

    def _change(self, cut: Cut, way: Way) -> list[Bars]:
        """Series with other bars behind a cut: all of an account, or that of the one window."""
        every = self._task.markets.series
        ends: dict[int, int] = {}
        for window in cut.windows:
            ends[window.series] = max(ends.get(window.series, 0), window.end)
        length = 1 + self._late
        if not self._is_account:
            return [poison_bars(every[number], end, way, length) for number, end in ends.items()]
        # What no window reads may be whole.
        return [
            poison_bars(bars, ends[number], way, length) if number in ends else bars
            for number, bars in enumerate(every)
        ]

    def _build_engine(
        self, series: Sequence[Bars], windows: Sequence[Window], config: RunConfig
    ) -> Engine:
        task = self._task
        return Engine(
            task.spec, series, windows, task.costs, device="cpu",
            threads=config.threads, memory_bytes=config.memory,
        )  # fmt: skip

    def _find_readers(self, cut: Cut, member: int, changed: Sequence[Bars]) -> str:
        """Names of a member's rows that read bars behind a cut: those that differ before it."""
        (window,) = cut.windows
        known = self._true_rows(member, window.series)
        others = [_read_rows(self._task, self._genomes[member], bars) for bars in changed]
        names = [
            f"'{name}'"
            for name, row in known.items()
            if not all(np.array_equal(*_bits(row, rows[name], window.end)) for rows in others)
        ]
        return f"row {' and '.join(names)}" if names else ""


def _read_true_rows(task: Task, genomes: Floats, member: int, number: int) -> Mapping[str, Floats]:
    return _read_rows(task, genomes[member], task.markets.series[number])


def _read_rows(task: Task, genome: Floats, bars: Bars) -> Mapping[str, Floats]:
    """Rows [T] that an individual [G] reads of bars, as they are written."""
    reference = Reference(task.spec, [bars], [], form=CompiledForm())
    return reference.rows(task.spec.layout.decode(genome), 0)


def _bits(row: Floats, other: Floats, end: int) -> tuple[Ints, Ints]:
    return row[:end].view(np.int64), other[:end].view(np.int64)
