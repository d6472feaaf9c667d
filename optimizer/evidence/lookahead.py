"""Does any trade use a bar that comes after it? Cuts, wrong bars, and equal results.

A window is cut before a bar, and members are evaluated again on bars that end with a false one:
far up, far down, or far both ways from its true open. Everything known before the cut must be
equal in every bit: rows, trades, and the signals taken at the last good bar. Where the open is
true, a trade entered at it has the same price, stop, target and size as well. Each symbol is cut
by itself. Where symbols share limits or cash the account is also cut as a whole, all symbols at
one moment, because its room depends on all of them. Source: house rule.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product, repeat
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np

from data.bars import Bars, Window, groups
from data.checks import PRICES, Flags, Floats, Ints, format_time
from data.progress import Progress, Watch
from data.timeframe import DAY_NS
from data.zones import to_local
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS, Ledger
from engine.memory_plan import allow_host_bytes
from engine.runtime.cpu.memory import keeping_row_memory
from engine.runtime.machine import available_cores
from optimizer.evidence.statistic import AGAINST, Around, Statistic, Weighed
from optimizer.evidence.trials import choose_evenly
from optimizer.search.randomness import draw_words, scale_to_index
from optimizer.store.payload import OPTIONAL
from strategy.expressions import GeneValue
from strategy.model import Strategy
from strategy.rows import resolve_value

if TYPE_CHECKING:
    from engine.batch import Engine
    from optimizer.evidence.judged_run import JudgedRun
    from optimizer.run.task import Task

Way = Literal["up", "down", "open"]
"""How bars behind a cut are wrong; the last one keeps their opens."""

WAYS: tuple[Way, ...] = ("up", "down", "open")

FAR = 2.0
"""Times the greatest price so far, or its least, that a wrong bar lies beyond."""

EVEN_CUTS, CLOCK_CUTS = 16, 8
"""Cuts at which every member is evaluated: even ones; and at most so many of each kind of bar at
which clocks change."""

MOST_MEMBERS, DRAWN_TRADES = 12, 10
"""Members, evenly chosen, that are cut at trades of their own: the first, the last and drawn ones,
after the signal and at the exit."""

READERS, KEPT_READERS = 4, 16
"""Members whose rows are compared where all members are cut: they take turns; and those whose rows
on true bars are kept."""

EVEN_MOMENTS, MOST_OF_ACCOUNT, TRADES_OF_ACCOUNT = 8, 16, 4
"""Moments at which accounts are cut for every member; members that are cut at so many trades."""

FULL_WINDOWS, FEWEST_EVEN_CUTS = 4, 4
"""Windows that are all cut so often; more of them share as many cuts. What is judged is a strategy,
whose rows read every symbol alike."""

ORDERS, SIGNAL_EXITS = (ACCUMULATOR_INDEX[name] for name in ("orders", "exits_signal"))
ANSWERS = [ACCUMULATOR_INDEX[name] for name in ("trades", "rejected", "skipped")]

AT_ENTRY = ("signal_bar", "side", "entry", "stop", "target", "scale", "gross")
"""Columns of a ledger that are known when a trade is entered at an open."""

MOST_BARS, MOST_JOBS_AT_ONCE = 2_000_000, 4
"""Of cuts of one member that are evaluated together; and jobs that are evaluated side by side: more
of them wait for the interpreter."""

CUT_BAR_BYTES = 800
"""Of a bar of a cut, about: copies of it, what is computed of them, and rows of one member."""

NEVER_NS, MOST_EXTRA = 2**62, 1e300


@dataclass(frozen=True)
class CausalRecord(Statistic):
    """Uses of a later bar by any trade of any member."""

    cuts: int
    members: int
    trades: int
    mismatches: int
    first: Annotated[str, OPTIONAL] = ""
    is_shared: Annotated[bool, OPTIONAL] = False  # by many windows

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """Count of differences, and the first of them."""
        sentence = f"No trade of any member uses a later bar: {self.cuts} cuts, 0 differences."
        if self.mismatches:
            later = f"{self.mismatches} differences, the first before {self.first}"
            sentence = f"Trades use later bars: {later}."
        yield Weighed("look-ahead", sentence, AGAINST if self.mismatches else "")


class Cut(NamedTuple):
    """Windows up to the first bar of each that is not known; several are one account."""

    windows: tuple[Window, ...]
    places: tuple[int, ...]  # of them among all windows

    def name(self, task: "Task", *, is_account: bool) -> str:
        """Its place, for a person."""
        window = self.windows[-1]
        if is_account:
            return format_time(task.markets.series[window.series].over_ns[window.end - 1])
        return f"bar {window.end} of {task.markets.names[window.series]}"


class Job(NamedTuple):
    """Cuts at which some members are evaluated together."""

    cuts: tuple[Cut, ...]
    members: Ints  # [M] numbers
    readers: Ints  # places among them of members with compared rows
    whole: Sequence[Ledger] = ()  # ledgers [W] of the only member, where its trades are compared


class CutAnswers(NamedTuple):
    """Results of members [M] at a cut."""

    known: Floats  # [M, W, A] accumulators before it, and of the common account
    following: Floats  # [M, W, A] with the bars behind it
    ledgers: Sequence[Ledger]  # [W] with the bars behind it, where trades are compared


Seen = tuple[dict[tuple[int, Way], CutAnswers], list[tuple[int, int]]]
"""Answers at places of cuts, in each way; and places of cuts and members whose rows differ."""


class Proof:
    """Cuts, and an engine of the bars as they are, for genomes [F, G]."""

    def __init__(
        self, task: "Task", engine: "Engine", genomes: Floats, *, is_account: bool = False
    ) -> None:
        self._task, self._engine, self._genomes = task, engine, genomes
        self._is_account, self._rests = is_account, task.spec.entry is not None
        delay = task.spec.delay
        own = delay.gene.low if isinstance(delay, GeneValue) else resolve_value(delay, {})
        # Bars behind a cut with entries signalled before it.
        self._late = 0 if is_account else task.costs.entry_delay + int(own)
        # It may not hold the proof, and with it an engine, in a circle.
        spec, series = task.spec, task.markets.series
        self._true_rows = lru_cache(KEPT_READERS)(
            lambda member, number: _read_rows(spec, genomes[member], series[number])
        )

    def find(self, planned: Iterable[Job]) -> Iterator[tuple[int, int, str]]:
        """Cuts of each job, the number of them at which members differ, and the first."""
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
        """True for members [M] that differ at a cut in facts known before it."""
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
        # The price of its entry decides whether a reversal is rejected and the position stays.
        if way == "open" or not (self._late or self._task.spec.reverse):
            was, now = (
                count_answers(each.following[:, is_next], way, rests=self._rests)
                for each in (known, seen)
            )
            # Exits by condition at later bars behind the cut are wrong.
            differ |= (was != now)[..., int(self._late > 0) :].any(axis=(1, 2))
        if way == "open" and job.whole:
            for window, whole, bars, ledger in zip(
                cut.windows, cut.places, series, seen.ledgers, strict=True
            ):
                if window.end == self._task.markets.windows[whole].end:
                    continue  # The whole ledger ends here as well.
                # A resting order may be filled at another price, behind the cut.
                entered = int(np.searchsorted(bars.timestamp, min(opens) + (not self._rests)))
                of_all = job.whole[whole if self._is_account else 0]
                differ |= not is_beginning(ledger, of_all, window.end, entered)
        return differ

    def _ask(self, engine: "Engine", job: Job, cuts: Sequence[Cut]) -> list[CutAnswers]:
        """Results of a job's members at cuts, with windows of an engine's series."""
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
        each = range(len(cuts))
        return [CutAnswers(known[:, [k]], following[:, [k]], ledgers[k : k + 1]) for k in each]

    def _extend_windows(self, engine: "Engine", windows: Sequence[Window]) -> list[Window]:
        """Windows with the bars behind them, where they are no beginning of a later one."""
        ends = _find_ends(windows)
        return [
            replace(window, end=min(window.end + 1 + self._late, len(engine.series[window.series])))
            if window.end == ends[window.series] or not self._is_account
            else window
            for window in windows
        ]

    def _evaluate_jobs(self, jobs: Sequence[Job]) -> Iterator[Seen]:
        """Answers at the cuts of each job, several side by side, as one core copies bars."""
        task = self._task
        cores, free = available_cores(task.config.threads), allow_host_bytes()
        bars = max(len(job.cuts) for job in jobs) * len(WAYS) * max(map(len, task.markets.series))
        fit = free // (CUT_BAR_BYTES * bars)
        # A person's own code may not be made for threads.
        at_once = 1 if task.spec.own else max(1, min(cores, len(jobs), MOST_JOBS_AT_ONCE, fit))
        limits = {"threads": cores // at_once, "memory": free // at_once}
        share = replace(task, config=task.config.model_copy(update=limits))
        if at_once == 1:
            # In the caller's own thread, where a signal ends it.
            yield from (self._evaluate_job(job, share) for job in jobs)
            return
        pool = ThreadPoolExecutor(at_once, "cuts")
        try:
            yield from pool.map(self._evaluate_job, jobs, repeat(share))
        finally:
            pool.shutdown(cancel_futures=True)

    def _evaluate_job(self, job: Job, share: "Task") -> Seen:
        ways = [(place, way) for place in range(len(job.cuts)) for way in WAYS]
        changed = [self._change(job.cuts[place], way) for place, way in ways]
        answers: list[CutAnswers] = []
        if self._is_account:
            for (place, _), series in zip(ways, changed, strict=True):
                cut = job.cuts[place]
                answers += self._ask(_build_engine(share, series, cut.windows), job, [cut])
            return dict(zip(ways, answers, strict=True)), []
        cuts = [
            Cut((replace(job.cuts[place].windows[0], series=number),), ())
            for number, (place, _) in enumerate(ways)
        ]
        series = [one for (one,) in changed]
        engine = _build_engine(share, series, [cut.windows[0] for cut in cuts])
        n_ways = len(WAYS)
        readers = [
            (place, row)
            for place, row in product(range(len(job.cuts)), job.readers.tolist())
            if self._find_readers(
                job.cuts[place], int(job.members[row]), series[n_ways * place :][:n_ways]
            )
        ]
        return dict(zip(ways, self._ask(engine, job, cuts), strict=True)), readers

    def _change(self, cut: Cut, way: Way) -> list[Bars]:
        """Series with other bars behind a cut: all of an account, or that of the one window."""
        every, ends, length = self._task.markets.series, _find_ends(cut.windows), 1 + self._late
        if not self._is_account:
            return [poison_bars(every[number], end, way, length) for number, end in ends.items()]
        # Bars outside every window may be whole.
        return [
            poison_bars(bars, ends[number], way, length) if number in ends else bars
            for number, bars in enumerate(every)
        ]

    def _find_readers(self, cut: Cut, member: int, changed: Sequence[Bars]) -> str:
        """Names of a member's rows that read bars behind a cut: they differ before it."""
        (window,), spec, genome = cut.windows, self._task.spec, self._genomes[member]
        end, known = window.end, self._true_rows(member, window.series)
        others = [_read_rows(spec, genome, bars) for bars in changed]
        names = [
            f"'{name}'"
            for name, row in known.items()
            if any((_bits(row[:end]) != _bits(rows[name][:end])).any() for rows in others)
        ]
        return f"row {' and '.join(names)}" if names else ""


def _find_ends(windows: Sequence[Window]) -> dict[int, int]:
    """The last end of windows in each of their series."""
    return {window.series: window.end for window in sorted(windows, key=lambda each: each.end)}


def _read_rows(spec: Strategy, genome: Floats, bars: Bars) -> Mapping[str, Floats]:
    """Rows [T] that an individual [G] reads of bars, as they are written."""
    from engine.reference import Reference
    from engine.runtime.compiling.forms import CompiledForm

    reference = Reference(spec, [bars], [], form=CompiledForm())
    return reference.rows(spec.layout.decode(genome), 0)


def build_causal_record(run: "JudgedRun") -> CausalRecord | None:
    """The whole front before many cuts, with wrong bars behind, if planned."""
    if not run.plan.causal:
        return None
    run.watch(Progress("judging: look-ahead"))
    return cut_front(run.task, run.engine, run.front, run.watch)


def cut_front(
    task: "Task", engine: "Engine", genomes: Floats, watch: Watch = lambda progress: None
) -> CausalRecord:
    """Judge a whole front [F, G] before many cuts, with wrong bars behind."""
    windows, limited = task.markets.windows, (task, engine)
    if task.costs.has_limits:
        task = replace(task, costs=task.costs.without_limits)
        engine = _build_engine(task, task.markets.series, windows)
    # Windows that take turns at the members, and even cuts of each.
    turns = max(1, -(-len(windows) // FULL_WINDOWS))
    n_even = max(FEWEST_EVEN_CUTS, EVEN_CUTS // turns)
    traced = choose_evenly(np.arange(len(genomes)), MOST_MEMBERS)
    proof, n_trades, n_done = Proof(task, engine, genomes), 0, 0
    found: list[tuple[int, int, str]] = []
    for window_numbers, share in engine.shares():
        whole = list(share.ledgers(genomes[traced]))
        # Memory may not hold it beside the next one.
        del share
        n_trades += sum(len(ledger) for of_member in whole for ledger in of_member)
        for number, place in enumerate(window_numbers.tolist()):
            of_window = [of_member[number] for of_member in whole]
            some = list(zip(traced.tolist(), of_window, strict=True))[place % turns :: turns]
            found += proof.find(_plan_window(task, place, len(genomes), dict(some), n_even))
            n_done += 1
            watch(Progress("judging: look-ahead", n_done, len(windows)))
    if len(windows) > 1 and (limited[0].costs.has_limits or task.spec.account is not None):
        found += _cut_account(*limited, genomes, traced)
    n_cuts, n_differ = sum(each[0] for each in found), sum(each[1] for each in found)
    first, is_shared = next((each[2] for each in found if each[2]), ""), len(windows) > FULL_WINDOWS
    return CausalRecord(n_cuts, len(genomes), n_trades, n_differ, first, is_shared)


def _build_engine(task: "Task", series: Sequence[Bars], windows: Sequence[Window]) -> "Engine":
    """An engine of a task's strategy on a CPU."""
    # Showing a record needs none.
    from engine.out_of_core import create_engine

    return create_engine(
        task.spec, series, windows, task.costs, device="cpu",
        threads=task.config.threads, memory_bytes=task.config.memory,
    )  # fmt: skip


def _cut_account(
    task: "Task", engine: "Engine", genomes: Floats, members: Ints
) -> Iterator[tuple[int, int, str]]:
    """Cut the account as a whole, for all members, and at trades of some of those named."""
    series, windows = task.markets.series, task.markets.windows
    times = [series[window.series].timestamp for window in windows]
    some, each = choose_evenly(members, MOST_OF_ACCOUNT), zip(times, windows, strict=True)
    opened = np.unique(np.concatenate([of[window.start : window.end] for of, window in each]))
    even = np.linspace(0, len(opened) - 1, EVEN_MOMENTS + 2).astype(np.int64)[1:-1]
    jobs = [_plan_moments(task, opened[even], np.arange(len(genomes)))]
    for member, ledgers in zip(some, engine.ledgers(genomes[some]), strict=True):
        entered = [
            of[choose_evenly(ledger.entry_bar, TRADES_OF_ACCOUNT)]
            for of, ledger in zip(times, ledgers, strict=True)
        ]
        moments = choose_evenly(np.unique(np.concatenate(entered)), TRADES_OF_ACCOUNT)
        jobs.append(_plan_moments(task, moments, np.array([member]))._replace(whole=ledgers))
    return Proof(task, engine, genomes, is_account=True).find(jobs)


def _plan_window(
    task: "Task", place: int, n_members: int, ledgers: Mapping[int, Ledger], n_even: int
) -> Iterator[Job]:
    """Cuts of one window: for all members, and at trades of some."""
    window = task.markets.windows[place]
    bars = task.markets.series[window.series]

    def cut(end: int) -> Cut:
        return Cut((replace(window, end=end),), (place,))

    # The last cuts first, which take most memory.
    for turn, end in enumerate(choose_cuts(bars, window, task.spec.zones, n_even)[::-1]):
        readers = np.unique((turn * READERS + np.arange(READERS)) % n_members)
        yield Job((cut(end),), np.arange(n_members), readers)
    together = max(1, MOST_BARS // len(bars))
    for member, ledger in ledgers.items():
        cuts = [*map(cut, choose_trade_cuts(bars, window, ledger, task.config.seed, member))]
        for begin in range(0, len(cuts), together):
            some = tuple(cuts[begin : begin + together])
            yield Job(some, np.array([member]), np.arange(0), (ledger,))


def _plan_moments(task: "Task", moments: Ints, members: Ints) -> Job:
    """Cuts of all windows at moments, as when only bars are known that are over by then."""
    cuts = (cut_windows(task, int(moment)) for moment in moments)
    return Job(tuple(filter(None, cuts)), members, np.arange(0))


def cut_windows(task: "Task", moment: int) -> Cut | None:
    """Windows as they are when only bars that are over by a moment are known; None without any."""
    kept = []
    for place, window in enumerate(task.markets.windows):
        known = np.searchsorted(task.markets.series[window.series].over_ns, moment, side="right")
        if (end := min(int(known), window.end)) > window.start:
            kept.append((replace(window, end=end), place))
    return Cut(*zip(*kept, strict=True)) if kept else None


def choose_cuts(
    bars: Bars, window: Window, zones: Iterable[str] = (), n_even: int = EVEN_CUTS
) -> tuple[int, ...]:
    """Bars before which a window is cut for every member, ascending, behind its first.

    Even ones, and those at which clocks change: bars that open before the last one has lasted its
    time, that follow a gap, and the first by a zone's other time.
    """
    cuts = {end for _, end in groups(window.start + 1, window.end, n_even)} - {len(bars)}
    times = bars.timestamp[window.start : window.end]
    steps = np.diff(times)
    kinds = [steps < bars.timeframe_ns, steps > bars.timeframe_ns]
    kinds += [np.diff(to_local(times, zone)) != steps for zone in {bars.zone, *zones} - {"UTC"}]
    for kind in kinds:
        changes = np.flatnonzero(kind) + window.start + 1
        cuts |= set(choose_evenly(changes, CLOCK_CUTS).tolist())
    return tuple(sorted(cut for cut in cuts if cut > window.start))


def choose_trade_cuts(
    bars: Bars, window: Window, ledger: Ledger, seed: int, member: int
) -> tuple[int, ...]:
    """Bars before which a window is cut for one member: after signals, and at exits.

    The first of its trades, the last and drawn ones, which seed and member decide. At a bar that is
    left by condition or by the clock it is unknown itself; any other one is known.
    """
    if not len(ledger):
        return ()
    drawn = scale_to_index(draw_words(seed, member, "look_ahead", DRAWN_TRADES), len(ledger))
    some = np.unique(np.append(drawn, [0, len(ledger) - 1]))
    is_known = ledger.reason[some] != REASONS.index("signal")
    cuts = np.append(ledger.signal_bar[some] + 1, ledger.exit_bar[some] + is_known)
    last = min(window.end, len(bars) - 1)
    return tuple(np.unique(cuts[(cuts > window.start) & (cuts <= last)]).tolist())


def poison_bars(bars: Bars, cut: int, way: Way, length: int = 1) -> Bars:
    """Bars [0, cut) as they are, and so many wrong ones behind, as far as there are any.

    Prices lie beyond all before, and so do volume and extra columns, where these were unknown too.
    Where opens stay, bars reach far up and far down from them. Bars that lie down open a day late,
    but where that would leave the last good one open for longer. Finer ones are those of bars up.
    """
    end = min(cut + length, len(bars))
    if end <= cut:
        return bars
    known, behind, is_up = slice(0, end), slice(cut, end), way != "down"
    highest = FAR * float(bars.high[known].max())
    lowest = float(bars.low[known].min()) / FAR
    factor = np.ones(end)
    factor[behind] = highest / bars.low[behind] if is_up else lowest / bars.high[behind]
    columns = {name: getattr(bars, name)[known] * factor for name in PRICES}
    columns["timestamp"] = times = bars.timestamp[known].copy()
    if way == "open":
        columns["open"] = bars.open[known]
        columns["low"] = np.append(bars.low[:cut], np.full(end - cut, lowest))
    elif way == "down" and times[cut] >= times[cut - 1] + bars.timeframe_ns:
        times[behind] += DAY_NS
    if (finer := bars.finer) is not None:
        finer = finer.between(0, int(bars.over_ns[end - 1 if way == "up" else cut - 1]))
        bar_of = np.searchsorted(times, finer.timestamp, side="right") - 1
        finer = replace(finer, prices=finer.prices * factor[np.maximum(bar_of, 0)])
    columns["volume"] = _poison_column(bars.volume[:end], cut, is_up=is_up)
    extra = {
        name: _poison_column(column[:end], cut, is_up=is_up) for name, column in bars.extra.items()
    }
    if not is_up:
        columns["volume"][behind] = bars.volume[:end].min() / FAR
    payments = {
        name: replace(
            paid, rates=np.where(paid.find_bars(times) >= cut, 1.0 - 2.0 * paid.rates, paid.rates)
        )
        for name, paid in bars.payments.items()
    }
    return bars.cut(0, end, **columns, extra=extra, finer=finer, payments=payments)


def _poison_column(column: Floats, cut: int, *, is_up: bool) -> Floats:
    far = min(FAR * float(np.nanmax(np.abs(column), initial=0.0)) + 1.0, MOST_EXTRA)
    return np.append(column[:cut], np.full(len(column) - cut, far if is_up else -far))


def compare_bits(left: Floats, right: Floats) -> Flags:
    """True for individuals [P] with equal bits in all their accumulators [P, W, A]."""
    same: Flags = (_bits(left) == _bits(right)).reshape(len(left), -1).all(axis=1)
    return same


def _bits(values: Floats) -> Ints:
    return np.ascontiguousarray(values).view(np.int64)


def count_answers(accumulators: Floats, way: Way, *, rests: bool) -> Floats:
    """Facts about signals when the bar behind a cut opens, [..., 1 to 4] of [..., A].

    Exits by condition; signals that found the account flat; and where the open is true, their
    number traded, rejected or skipped. Where entries rest, the bar behind the cut may fill an
    order or not, and the placed orders are counted.
    """
    answers = accumulators[..., [ORDERS] if rests else ANSWERS]
    if way != "open":
        answers = answers.sum(axis=-1, keepdims=True)
    return np.concatenate([accumulators[..., [SIGNAL_EXITS]], answers], axis=-1)


def is_beginning(seen: Ledger, whole: Ledger, cut: int, entered: int) -> bool:
    """True if trades on bars that are wrong behind a cut are the first of the whole ledger.

    All opens seen are true. Trades that ended before the cut are equal in every bit; those entered
    before a bar are equal as far as an entry is known.
    """
    both = (seen, whole)
    count, other = (int((ledger.entry_bar < entered).sum()) for ledger in both)
    is_closed, others = (ledger.exit_bar[:count] < cut for ledger in both)
    if count != other or not np.array_equal(is_closed, others):
        return False
    left, right = (ledger.columns() for ledger in both)
    return all(
        left[name][:count][known].tobytes() == right[name][:count][known].tobytes()
        for name in left
        for known in (is_closed, ... if name in AT_ENTRY else is_closed)
    )
