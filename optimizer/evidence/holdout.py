"""The pick on bars that the search had not seen: closed until opened, looks counted."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from data.errors import describe_unwritten
from data.files import taking_turns
from engine.certificate import data_hash
from optimizer.errors import ConfigError, StoreError
from optimizer.evidence.figures import Number
from optimizer.evidence.folds import Range
from optimizer.evidence.out_of_sample import OutOfSample, measure_out_of_sample
from optimizer.evidence.statistic import Around, Weighed
from optimizer.formatting import format_count
from optimizer.run.tables import newest_front
from optimizer.store import RunStore
from optimizer.store.caveats import OPENED
from optimizer.store.listing import list_run_folders
from optimizer.store.payload import OPTIONAL, Payload
from optimizer.store.result import (
    DataDescription,
    Figures,
    WindowDescription,
    load_result,
    overlap,
    refuse_red,
)
from optimizer.store.searches import read_list, write_list

if TYPE_CHECKING:
    from optimizer.evidence.judged_run import JudgedRun

LOOKS = "looks.json"
"""Under the folder of runs: which fronts held-out bars were opened for."""

LARGEST_BYTES = 100_000_000
"""Of that list; a look at a thousand symbols takes a thousandth of it."""


@dataclass(frozen=True)
class HeldOutRecord(OutOfSample):
    """The pick on bars that the search had not seen, and how often such bars were looked at."""

    looks: int
    members: tuple[Figures, ...] = ()  # figures there of every member, by number
    # Some metrics of each member in all windows, searched on and held out.
    by_window: tuple[Mapping[str, tuple[Number, ...]], ...] = ()
    # True if the steps of the run's schedule traded there, not the pick.
    by_steps: Annotated[bool, OPTIONAL] = False

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """The pick there, and how many fronts looked at such bars."""
        opening = "The schedule goes on: " if self.by_steps else ""
        yield Weighed(
            "held-out bars",
            f"{opening}{self.format('mean_r')} R a trade over "
            f"{format_count(self.trades, 'trade')}; "
            f"PSR {self.format_chance('psr')}; {format_count(self.looks, 'front')} looked at on "
            "such bars.",
            self.find_side(self.looks),
        )


@dataclass(frozen=True, kw_only=True)
class NotedLook(Payload):
    """A look in the list of a folder."""

    what: ClassVar[str] = "a look"

    content: str = ""  # hash of the series
    bars: tuple[Range, ...]  # that were held out
    front: str  # hash of the front
    when: str = ""  # ISO time
    member: int | None = None  # number of the pick; None where that is not known


@dataclass(frozen=True)
class LookRecord(Payload):
    """A row of evidence that held-out bars were looked at."""

    what: ClassVar[str] = "a look at held-out bars"

    looks: int  # fronts that bars sharing one with these were opened for, this included
    front: str
    member: int  # number of the pick
    fronts: tuple[str, ...]  # hashes of those fronts, as far as they are known


Looks = dict[str, set[int]]
"""Fronts that held-out bars were opened for, and numbers of their picks, as far as known."""


def build_held_out_record(
    run: "JudgedRun",
    known: Looks,
    *,
    judged: Iterable[HeldOutRecord | None],
    go_on: Callable[[], OutOfSample] | None = None,
) -> HeldOutRecord:
    """Record of the front on held-out bars; the look is recorded before anything is seen.

    `known` looks are those of `check_open`, `judged` are records of earlier judgements. Trades are
    those of the pick, or of the run's schedule, as `go_on` measures them.

    Raises:
        StoreError: When the look cannot be recorded.
        ParityError: When reference and engine disagree there.
    """
    # A record is read without an engine.
    from engine.replay.certificate import certify
    from optimizer.run.individuals import describe_individuals

    task, store, pick = run.whole, run.store, run.pick
    markets, own = task.markets, run.result.front_hash
    looks = known | {own: {pick.member}}
    fronts = record_looks(
        store.path.parent, run.result.data.held_out, data_hash(markets.series), looks
    )
    opened = [LookRecord.read(row).looks for name, row in store.evidence if name == OPENED]
    # In whatever folder the run was.
    least = max((0, *opened, *(record.looks for record in judged if record is not None)))
    count = max(len(fronts), least)
    if count > least:
        noted = LookRecord(count, own, pick.member, tuple(sorted(fronts)))
        store.add_evidence(OPENED, noted.payload())
        store.flush()
    engine, genomes = task.full_engine(device="cpu"), newest_front(store).genomes
    refuse_red(certify(engine, genomes))
    if go_on is not None:
        unseen = go_on()
    else:
        ledgers, window_indices = engine.trades(pick.genome), markets.places("held_out")
        taken = [ledgers[index] for index in window_indices]
        unseen = measure_out_of_sample(taken, markets.series, markets.held_out)
    described = describe_individuals(task, engine, genomes)
    return HeldOutRecord(
        looks=count,
        members=tuple(member.held_out for member in described if member.held_out is not None),
        by_window=tuple(member.by_window for member in described),
        by_steps=go_on is not None,
        **unseen.encode(),
    )


def check_open(run: "JudgedRun") -> Looks | None:
    """Looks so far; None where held-out bars stay closed.

    Raises:
        ConfigError: When nothing was held out, or it was opened already with another pick.
    """
    if not run.plan.is_open:
        return None
    if not run.whole.markets.held_out:
        raise ConfigError("--open: no bars were held out, evolve with --holdout 20%")
    known = list_known_looks(run.store, run.result.data.held_out)
    if others := known.get(run.result.front_hash, set()) - {run.pick.member}:
        raise ConfigError(
            f"--pick {run.pick.member}: held-out bars were opened with member {min(others)} as the "
            "pick; who is named after that is not confirmed by them"
        )
    return known


def list_known_looks(store: RunStore, windows: Sequence[WindowDescription]) -> Looks:
    """Looks at bars that held-out windows share, by the folder's list and by runs beside.

    A run may have been copied from another folder, and the list may be gone.

    Raises:
        StoreError: When the list of looks cannot be read.
    """
    bars = list_bar_ranges(windows)
    listed = _read_looks(store.path.parent / LOOKS)
    noted = [(look.front, look.member) for look in listed if overlap(look.bars, bars)]
    for folder in list_run_folders(store.path.parent):
        # A run that cannot be read has shown no held-out bar since.
        with contextlib.suppress(StoreError), RunStore.open(folder) as other:
            opened = [LookRecord.read(row) for name, row in other.evidence if name == OPENED]
            result = load_result(other) if opened else None
            if result is None or not overlap(result.data.held_out, bars):
                continue
            for row in opened:
                noted += [(row.front, row.member), *((front, None) for front in row.fronts)]
    looks: Looks = {front: set() for front, _ in noted}
    for front, member in noted:
        if member is not None:
            looks[front].add(member)
    return looks


def record_looks(
    runs: Path, windows: Sequence[WindowDescription], content: str, known: Looks
) -> set[str]:
    """Note fronts that are looked at on held-out bars; all fronts that were, on shared bars.

    The same front again is no new look. Processes that look at once take turns. `content` is the
    hash of the series.

    Raises:
        StoreError: When the list of looks cannot be read.
        OptimizerError: When it cannot be written.
    """
    path, bars = runs / LOOKS, list_bar_ranges(windows)
    try:
        with taking_turns(runs):
            looks = _read_looks(path)
            seen = {look.front for look in looks if overlap(look.bars, bars)}
            now = datetime.now(UTC).isoformat(timespec="seconds")
            new = [
                NotedLook(
                    content=content,
                    bars=bars,
                    front=front,
                    when=now,
                    member=min(picks, default=None),
                )
                for front, picks in known.items()
                if front not in seen
            ]
            if new:
                write_list(path, [look.payload() for look in (*looks, *new)])
    except OSError as error:
        raise StoreError(describe_unwritten(path, error)) from None
    return seen.union(known)


def count_search(
    searched: Sequence[WindowDescription], fronts: set[str], other: Mapping[str, object]
) -> None:
    """Add the front of another run's result, if it was searched on some of these bars."""
    try:
        # Its members are not read: they take three times as long.
        data, front = DataDescription.read(other.get("data")), other.get("front_hash")
    except StoreError:
        # A run that cannot be read was searched all the same, on bars that are not known.
        return
    if isinstance(front, str) and overlap(data.searched, searched):
        fronts.add(front)


def list_bar_ranges(windows: Iterable[WindowDescription]) -> tuple[Range, ...]:
    """Ranges of bars of windows, as looks are noted."""
    return tuple(Range(window.symbol, window.first, window.last) for window in windows)


def _read_looks(path: Path) -> list[NotedLook]:
    return read_list(path, LARGEST_BYTES, "looks", NotedLook.read)
