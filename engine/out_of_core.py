"""Engines of parts of series, and groups of individuals with windows of their own."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results
from engine.backend import Ints
from engine.batch import Engine, Wait
from engine.devices import Device, settle_device
from engine.memory_plan import MemoryPlan, allow_bytes, cut_series
from engine.validate import check_windows, require_genomes
from strategy.expressions import holds_row
from strategy.genes import Floats
from strategy.model import Strategy

LISTED_PAIRS = 16_384
"""Pairs of individual and window with ledgers held at once."""


def create_engine(
    spec: Strategy,
    series: Sequence[Bars],
    windows: Sequence[Window],
    costs: Costs | None = None,
    *,
    device: str | Device = "auto",
    threads: int | None = None,
    memory_bytes: int | None = None,
    apart: int = 0,
) -> Engine:
    """An engine of all series if memory holds its needs, else an engine of parts.

    Only a CPU works in parts; arguments and errors are those of `engine.batch.Engine`. Each `apart`
    series that follow one another have rows of their own, for individuals that meet their windows
    (`evaluate_groups`), and an even share of the memory; 0 for none of this. A device that
    evaluates any pairs at once has rows in all series, which costs it little.
    """
    check_windows(series, windows)
    chosen = settle_device(spec, device, costs)
    # A part alone does not know whom an account with limits takes of the others.
    is_whole = costs is not None and costs.has_limits
    if apart and not is_whole and not chosen.maker.meets_own:
        together = chosen.maker.of_markets(spec, series, costs or Costs(), apart)
        if together is not None:
            chosen = chosen._replace(maker=together)
            return Engine(
                spec, series, windows, costs, device=chosen, threads=threads,
                memory_bytes=memory_bytes,
            )  # fmt: skip
        borders = [*range(0, len(series), apart), len(series)]
        share = allow_bytes(chosen.maker, memory_bytes) // (len(borders) - 1)
        apart_engine = PartedEngine(spec, series, windows, costs, chosen, borders, threads, share)
        apart_engine.holds_all = True
        return apart_engine
    if chosen.label == "cpu" and not is_whole:
        n_rows = sum(map(holds_row, spec.expressions))
        borders, room = cut_series(chosen.maker, series, n_rows, memory_bytes)
        if len(borders) > 2:
            return PartedEngine(spec, series, windows, costs, chosen, borders, threads, room)
    return Engine(
        spec, series, windows, costs, device=chosen, threads=threads, memory_bytes=memory_bytes
    )


class PartedEngine(Engine):
    """An engine of consecutive parts of series, each computed anew at every use, or held.

    It has the bits of one engine of all series, and keeps data of one part only; of all parts where
    it holds them, so that each has the rows of individuals on its windows.

    Args:
        spec, series, windows, costs: As of `engine.batch.Engine`.
        chosen: The device.
        borders: [parts + 1] numbers of the series at which parts begin and end.
        threads, memory_bytes: Of each part.
    """

    meets_own = folds_accounts = holds_all = False

    def __init__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        windows: Sequence[Window],
        costs: Costs | None,
        chosen: Device,
        borders: Sequence[int],
        threads: int | None = None,
        memory_bytes: int | None = None,
    ) -> None:
        self.spec, self.series, self.windows = spec, tuple(series), tuple(windows)
        self.costs, self.device = costs or Costs(), chosen.label
        self._borders, self._chosen = tuple(borders), chosen
        self.n_parts = len(borders) - 1
        self.device_reason = f"{chosen.reason}, in {self.n_parts} parts of the series"
        self._given = {"threads": threads, "memory_bytes": memory_bytes}
        self._held: dict[int, Engine] = {}
        self._chunk = None
        self._parts = cut_windows(self.windows, self._borders)
        self._shared: dict[tuple[int, ...], list[tuple[int, Ints, Engine]]] = {}

    @property
    def threads(self) -> int:
        """Cores that the device uses."""
        return self._engine(0).threads

    def on(self, windows: Sequence[Window]) -> "PartedEngine":
        """The same for other windows [W] of its series."""
        check_windows(self.series, windows)
        other = copy(self)
        other.windows = tuple(windows)
        other._parts, other._shared = cut_windows(windows, self._borders), {}
        return other

    def with_costs(self, costs: Costs) -> "PartedEngine":
        """The same with other costs."""
        other = copy(self)
        other.costs, other._held, other._shared = costs, {}, {}
        return other

    def memory_plan(self, individuals: int) -> MemoryPlan:
        """Memory plan of a population of so many individuals, beside one part."""
        return replace(self._engine(0).memory_plan(individuals), n_windows=len(self.windows))

    def shares(self) -> Iterator[tuple[Ints, Engine]]:
        """Places of windows among all, and the engine of these, one part after the other.

        They come in the order of windows where those of a part stand side by side.
        """
        for part in sorted(self._parts, key=lambda part: int(self._parts[part][0][0])):
            numbers, windows = self._parts[part]
            yield numbers, self._engine(part).on(windows)

    def begin(self, genomes: Floats) -> Wait:
        """See `engine.batch.Engine.begin`; nothing is left to wait for."""
        genomes = require_genomes(self.spec, genomes)
        out = np.empty((len(genomes), len(self.windows), len(ACCUMULATORS)))
        for numbers, engine in self.shares():
            out[:, numbers] = engine.evaluate(genomes)
            # Else it would stay until the next one is made.
            del engine
        return lambda: out

    def list_results(self, genomes: Floats) -> tuple[Floats, Results]:
        """See `engine.batch.Engine.list_results`."""
        genomes = require_genomes(self.spec, genomes)
        out = np.empty((len(genomes), len(self.windows), len(ACCUMULATORS)))
        members = np.arange(len(genomes))

        def of_shares() -> Iterator[tuple[Ints, Ints, Results]]:
            for numbers, engine in self.shares():
                out[:, numbers], results = engine.list_results(genomes)
                yield members, numbers, results
                del engine

        return out, join_results(of_shares(), len(genomes), len(self.windows))

    def ledgers(self, genomes: Floats) -> Iterator[tuple[Ledger, ...]]:
        """See `engine.batch.Engine.ledgers`."""
        genomes = require_genomes(self.spec, genomes)
        step = max(1, LISTED_PAIRS // len(self.windows))
        for begin in range(0, len(genomes), step):
            members = genomes[begin : begin + step]
            by_window: list[dict[int, Ledger]] = [{} for _ in members]
            for numbers, engine in self.shares():
                for ledger_of, ledgers in zip(by_window, engine.ledgers(members), strict=True):
                    ledger_of |= zip(numbers.tolist(), ledgers, strict=True)
                del engine
            for ledger_of in by_window:
                yield tuple(ledger_of[window_number] for window_number in range(len(self.windows)))

    def trades(self, genome: Floats) -> tuple[Ledger, ...]:
        """See `engine.batch.Engine.trades`."""
        (ledgers,) = self.ledgers(np.asarray(genome)[None])
        return ledgers

    def signals(self, genome: Floats) -> tuple[Ints, ...]:
        """See `engine.batch.Engine.signals`."""
        by_window: dict[int, Ints] = {}
        for numbers, engine in self.shares():
            by_window |= zip(numbers.tolist(), engine.signals(genome), strict=True)
            del engine
        return tuple(by_window[window_number] for window_number in range(len(self.windows)))

    def _engine(self, part: int) -> Engine:
        """Engine of one part, whatever its own window; another part's engine is let go first."""
        if part not in self._held:
            if not self.holds_all:
                self._held.clear()
            series = self.series[self._borders[part] : self._borders[part + 1]]
            self._held[part] = Engine(
                self.spec,
                series,
                [Window.whole(series[0])],
                self.costs,
                device=self._chosen,
                **self._given,
            )
        return self._held[part]

    def evaluate_groups(self, groups: Sequence[tuple[Floats, Sequence[int]]]) -> list[Floats]:
        """Accumulators [P, W, A] of groups: genomes [P, G] and numbers of windows [W].

        All begin before the first wait, except for a second call of a part.
        """
        answers: list[Floats] = []
        waits: dict[int, tuple[Floats, Ints, Wait]] = {}  # one at most of each part

        def take_all() -> None:
            while waits:
                out, columns, wait = waits.pop(next(iter(waits)))
                out[:, columns] = wait()

        try:
            for genomes, numbers in groups:
                out = np.empty((len(genomes), len(numbers), len(ACCUMULATORS)))
                answers.append(out)
                for part, columns, engine in self._share_windows(tuple(numbers)):
                    if part in waits:
                        take_all()
                    waits[part] = out, columns, engine.begin(genomes)
        finally:
            # Begun work is never left alone.
            take_all()
        return answers

    def _share_windows(self, numbers: tuple[int, ...]) -> list[tuple[int, Ints, Engine]]:
        """Each part with windows of these numbers, the numbers of these, and its engine."""
        if numbers not in self._shared:
            parts = cut_windows([self.windows[number] for number in numbers], self._borders)
            self._shared[numbers] = [
                (part, columns, self._engine(part).on(windows))
                for part, (columns, windows) in parts.items()
            ]
        return self._shared[numbers]


def cut_windows(
    windows: Sequence[Window], borders: Sequence[int]
) -> dict[int, tuple[Ints, list[Window]]]:
    """Part of series to the places of its windows among all, and these with its own numbers."""
    series = np.array([window.series for window in windows])
    parts = {}
    for part, (begin, end) in enumerate(pairwise(borders)):
        numbers: npt.NDArray[np.int64] = np.flatnonzero((series >= begin) & (series < end))
        windows_of_part = [
            replace(windows[window_number], series=int(series[window_number]) - begin)
            for window_number in numbers
        ]
        if windows_of_part:
            parts[part] = numbers, windows_of_part
    return parts


class Group(NamedTuple):
    """Individuals that meet the same windows."""

    genomes: Floats  # [P, G], P at least 1
    windows: Sequence[int]  # [W] numbers of an engine's windows
    is_account: bool = False  # whether to fold them as one account too


def evaluate_groups(engine: Engine, groups: Sequence[Group]) -> list[tuple[Floats, Floats | None]]:
    """Accumulators [P, W, A] of each group, and those of its windows as one account, if wanted.

    They are evaluated together if the device can; else parts of an engine with its series
    apart work on groups without accounts side by side.
    """
    if engine.meets_own:
        return _evaluate_together(engine, groups)
    plain = [(group.genomes, group.windows) for group in groups if not group.is_account]
    answers: Iterator[Floats]
    if isinstance(engine, PartedEngine) and engine.holds_all:
        answers = iter(engine.evaluate_groups(plain))
    else:
        answers = (_on(engine, windows).evaluate(genomes) for genomes, windows in plain)
    return [
        _on(engine, group.windows).evaluate_account(group.genomes)
        if group.is_account
        else (next(answers), None)
        for group in groups
    ]


def _evaluate_together(
    engine: Engine, groups: Sequence[Group]
) -> list[tuple[Floats, Floats | None]]:
    """The same, all at once that have as many windows."""
    alike: dict[tuple[int, bool], list[int]] = {}
    for number, group in enumerate(groups):
        alike.setdefault((len(group.windows), bool(group.is_account)), []).append(number)
    answers: list[tuple[Floats, Floats | None]] = [(np.empty(0), None)] * len(groups)
    for (_, is_account), numbers in alike.items():
        sizes = [len(groups[number].genomes) for number in numbers]
        genomes = np.concatenate([groups[number].genomes for number in numbers])
        own = np.array([groups[number].windows for number in numbers], np.int32).repeat(sizes, 0)
        account = None
        if is_account:
            accumulators, account = engine.evaluate_account(genomes, own)
        else:
            accumulators = engine.evaluate_own(genomes, own)
        begin = 0
        for number, size in zip(numbers, sizes, strict=True):
            part = slice(begin, begin + size)
            answers[number] = accumulators[part], None if account is None else account[part]
            begin += size
    return answers


def _on(engine: Engine, windows: Sequence[int]) -> Engine:
    """An engine for some of its windows, by number."""
    return engine.on([engine.windows[number] for number in windows])
