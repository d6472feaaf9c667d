"""An engine for series that memory does not hold together: one part of them after the other."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results
from engine.backend import Ints
from engine.batch import Engine
from engine.devices import Device, settle_device
from engine.memory_plan import MemoryPlan, allow_bytes, cut_series
from engine.pairs import Begun, Wait, check_pairs, take_begun
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
    (`Engine.evaluate_pairs`), and an even share of the memory; 0 for none of this. A device that
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
        return ApartEngine(spec, series, windows, costs, chosen, borders, threads, share)
    if chosen.label == "cpu" and not is_whole:
        n_rows = sum(map(holds_row, spec.expressions))
        borders, room = cut_series(chosen.maker, series, n_rows, memory_bytes)
        if len(borders) > 2:
            return PartedEngine(spec, series, windows, costs, chosen, borders, threads, room)
    return Engine(
        spec, series, windows, costs, device=chosen, threads=threads, memory_bytes=memory_bytes
    )


class PartedEngine(Engine):
    """An engine of consecutive parts of series, each computed anew at every use.

    It has the bits of one engine of all series, and keeps data of one part only.

    Args:
        spec, series, windows, costs: As of `engine.batch.Engine`.
        chosen: The device.
        borders: [parts + 1] numbers of the series at which parts begin and end.
        threads, memory_bytes: Of each part.
    """

    meets_own = folds_accounts = False
    holds_all = False
    """True if parts stay in memory after their first use."""

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
        return type(self)(
            self.spec, self.series, self.windows, costs, self._chosen, self._borders, **self._given
        )

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

    def begin_pairs(self, genomes: Floats, pairs: Ints) -> Wait:
        """See `engine.batch.Engine.begin_pairs`; a part computes rows of its own pairs alone."""
        genomes = require_genomes(self.spec, genomes)
        check_pairs(pairs, len(genomes), len(self.windows))
        accumulators = np.empty((len(pairs), len(ACCUMULATORS)))
        begun: Begun = []
        try:
            for pair_numbers, pairs_of_part, engine in self._share_pairs(pairs):
                members, member_of = np.unique(pairs_of_part[:, 0], return_inverse=True)
                pairs_of_part[:, 0] = member_of
                begun.append((pair_numbers, engine.begin_pairs(genomes[members], pairs_of_part)))
                if not self.holds_all:
                    take_begun(begun, accumulators)
                del engine
        except Exception:
            # Begun work is never left alone.
            take_begun(begun, accumulators)
            raise
        return partial(take_begun, begun, accumulators)

    def _share_pairs(self, pairs: Ints) -> Iterator[tuple[Ints, Ints, Engine]]:
        """Each part that has pairs: their numbers, the pairs by its own windows, and its engine."""
        part_of, number_in_part = np.zeros((2, len(self.windows)), np.int64)
        for part, (numbers, _) in self._parts.items():
            part_of[numbers], number_in_part[numbers] = part, np.arange(len(numbers))
        part_of_pair = part_of[pairs[:, 1]]
        order = np.argsort(part_of_pair, kind="stable")
        ends = np.searchsorted(part_of_pair[order], np.arange(self.n_parts), side="right")
        for part, pair_numbers in enumerate(np.split(order, ends[:-1])):
            if len(pair_numbers):
                members, windows = pairs[pair_numbers].T
                pairs_of_part = np.stack((members, number_in_part[windows]), axis=1)
                yield pair_numbers, pairs_of_part, self._engine(part).on(self._parts[part][1])

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


class ApartEngine(PartedEngine):
    """An engine that holds all parts, so that each has the rows of individuals on its windows.

    Searches that advance together, each on a market of its own, are pairs or groups of it.
    """

    holds_all = True

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
