"""The launches that make rows of markets on the device, step after step."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch

from data.timeframe import MINUTE_NS, find_bar_ends
from engine.backend import Ints
from engine.indicators.cuda.row_kernels import LINES, NUMBERS, bar_kernel, session_kernel
from engine.indicators.cuda.row_launches import (
    JOBS,
    VALUE_BYTES,
    cut_chains,
    launch_chains,
    launch_windows,
    send,
    share_blocks,
)
from engine.indicators.cuda.row_steps import (
    CHAIN,
    FINITE,
    GIVEN,
    SESSIONS,
    WINDOWS,
    RowStep,
    StepBook,
)
from engine.indicators.trend_spec import SLOWEST
from engine.runtime.compiling.launch import launch
from strategy.clock import local_time, number_sessions
from strategy.expressions import Clock, Expression
from strategy.rows import Rows, whole
from strategy.series import Series

TILE = 1024
"""Bars that a program makes."""

Launch = Callable[[list[torch.Tensor]], None]
"""Launches steps, from all tables on the device."""


class StepRows:
    """Rows of M markets with the same times; of each tree one row a market.

    Args:
        hosts: Of each market, on the host.
        device: Where rows lie.
        give: Makes rows [n M, T] of trees that no step makes.
        most_bytes: Memory for rows that others are made of, while these are.
    """

    def __init__(
        self,
        hosts: Sequence[Rows],
        device: torch.device,
        give: Callable[[Sequence[Expression]], torch.Tensor],
        most_bytes: int,
    ) -> None:
        self._series, self._bars = hosts[0].series, len(hosts[0].series)
        self._markets, self._device, self._give = len(hosts), device, give
        self._most = max(most_bytes // (VALUE_BYTES * self._markets * max(self._bars, 1)), 1)
        self._book = StepBook(hosts[0])
        # Rows that many others read, and where they lie.
        self._held: list[torch.Tensor] = []
        self._kept: dict[RowStep, int] = {}
        self._base = torch.empty(1, dtype=torch.float64, device=device)

    def find(self, tree: Expression) -> RowStep:
        """The step that makes a row of a tree without genes."""
        return self._book.find(tree)

    def make(self, steps: Sequence[RowStep], out: torch.Tensor, numbers: Sequence[int]) -> None:
        """Make rows of steps, each into the M of out [n M, T] that have its number."""
        first, step = self._locate(out), self._markets * self._bars
        places = [first + number * step for number in numbers]
        for wanted, made in self._cut(steps, places):
            self._make(wanted, made)
        self._book.forget(self._kept)

    def _cut(
        self, steps: Sequence[RowStep], places: Sequence[int]
    ) -> Iterator[tuple[dict[RowStep, int], dict[RowStep, int]]]:
        """Some wanted steps after others, with places; and all steps made for them.

        The latter with the number of steps below. They are cut when rows fill memory.
        """
        wanted: dict[RowStep, int] = {}
        made: dict[RowStep, int] = {}
        for step, place in zip(steps, places, strict=True):
            # A row has one place: of a row wanted elsewhere too there are copies of copies.
            own = step
            while own in made or own in self._kept:
                own = self._book.add("copy", own)
            self._note(own, made)
            wanted[own] = place
            if len(made) >= self._most:
                yield wanted, made
                wanted, made = {}, {}
        if wanted:
            yield wanted, made

    def _note(self, step: RowStep, made: dict[RowStep, int]) -> int:
        """Note a step and those below it that are not there; returns how many stand below."""
        if step in self._kept:
            return -1
        if step not in made:
            below = [self._note(row, made) for row in step.operands if isinstance(row, RowStep)]
            made[step] = 1 + max(below, default=-1)
        return made[step]

    def _make(self, wanted: dict[RowStep, int], made: dict[RowStep, int]) -> None:
        places, held = self._place(wanted, made)
        alike: dict[tuple[int, str, bool], list[RowStep]] = {}
        for step, level in made.items():
            if step.form != GIVEN:
                is_weighed = step.form == CHAIN and isinstance(step.operands[2], RowStep)
                alike.setdefault((level, step.form, is_weighed), []).append(step)
        tables = _Tables(places, self._bars, self._markets)
        launches = [self._plan(alike[key], tables) for key in sorted(alike, key=lambda key: key[0])]
        there = tables.send(self._device, self._locate)
        for run in launches:
            run(there)
        # Noted only now: a row that could not be made is missing. Other rows that were read are
        # let go of; launches read them before others are written in their place.
        self._held += held[True]
        self._kept |= {step: places[step] for step in made if step.is_shared and step not in wanted}

    def _place(
        self, wanted: dict[RowStep, int], made: dict[RowStep, int]
    ) -> tuple[dict[RowStep, int], dict[bool, list[torch.Tensor]]]:
        """Places of rows; and tensors of unwanted ones, by whether they stay."""
        places = self._kept | wanted
        held: dict[bool, list[torch.Tensor]] = {True: [], False: []}
        rows: dict[tuple[bool, bool], list[RowStep]] = {}
        for step in made:
            if step not in wanted:
                rows.setdefault((step.is_shared, step.form == GIVEN), []).append(step)
        for (is_shared, is_given), steps in rows.items():
            if is_given:
                tensor = self._give([cast(Expression, step.tree) for step in steps])
            else:
                tensor = torch.empty((len(steps) * self._markets, self._bars), **self._kind)
            first, each = self._locate(tensor), self._markets * self._bars
            places |= {step: first + k * each for k, step in enumerate(steps)}
            held[is_shared].append(tensor)
        return places, held

    @property
    def _kind(self) -> dict[str, Any]:
        return {"dtype": torch.float64, "device": self._device}

    def _locate(self, tensor: torch.Tensor) -> int:
        """Where a tensor begins, as tables say it."""
        return (tensor.data_ptr() - self._base.data_ptr()) // VALUE_BYTES

    def _plan(self, steps: list[RowStep], tables: "_Tables") -> Launch:
        """Launches of the steps of one form, which stand in tables from now on."""
        form = steps[0].form
        if form == CHAIN:
            return self._plan_chains(steps, tables)
        if form in WINDOWS:
            return self._plan_windows(steps, tables)
        if form in SESSIONS:
            return self._plan_sessions(steps, tables)
        table, n, count = tables.add(steps), len(steps) * self._markets, len(steps[0].operands)

        def run(there: list[torch.Tensor]) -> None:
            launch(bar_kernel, (n, -(-self._bars // TILE)), self._base, there[table], n,
                   FORM=form, COUNT=count, FINITE=form in FINITE, TILE=TILE)  # fmt: skip

        return run

    def _plan_windows(self, steps: list[RowStep], tables: "_Tables") -> Launch:
        # Windows of about one length have about as many blocks.
        steps = sorted(steps, key=lambda step: -step.whole)
        form, windows = steps[0].form, np.array([step.whole for step in steps], np.int64)
        windows = windows.repeat(self._markets)
        shares = share_blocks(windows, self._bars)
        table = tables.add(steps, shares)
        return lambda there: launch_windows(
            form, self._base, there[table], windows, shares, self._bars
        )

    def _plan_sessions(self, steps: list[RowStep], tables: "_Tables") -> Launch:
        form, jobs = steps[0].form, list[Ints]()
        for step in steps:
            sessions = find_sessions(self._series, cast(Clock, step.tree))
            # A job is a session.
            jobs.append(tables.build([step]).repeat(sessions.shape[1], axis=1))
            jobs[-1][1:5] = np.tile(sessions, self._markets)
        joined = np.concatenate(jobs, axis=1)
        table, n = tables.add_table(joined), joined.shape[1]
        longest = int((joined[2] - joined[1]).max())

        def run(there: list[torch.Tensor]) -> None:
            launch(session_kernel, (-(-n // JOBS),), self._base, there[table], n, longest, warps=1,
                   FORM=form, JOBS=JOBS)  # fmt: skip

        return run

    def _plan_chains(self, steps: list[RowStep], tables: "_Tables") -> Launch:
        is_weighed = isinstance(steps[0].operands[2], RowStep)
        weights = np.full(len(steps), SLOWEST * SLOWEST)
        if not is_weighed:
            weights = np.array([step.operands[2] for step in steps], np.float64)
        order = np.argsort(-weights, kind="stable")
        cut = cut_chains(weights[order].repeat(self._markets), self._bars)
        table, cuts = tables.add([steps[k] for k in order.tolist()]), tables.add_numbers(cut)
        width = -(-self._bars // int(cut[0].min()))
        return lambda there: launch_chains(
            self._base, there[table], there[cuts], width, is_weighed=is_weighed
        )


def find_sessions(series: Series, clock: Clock) -> Ints:
    """Sessions [4, n]: first bar, one past the last; those of the first minutes.

    Of the first minutes one past the last bar that opens in them, and the first bar that is known:
    with it they are over. Nothing is known in the session that holds bar 0.
    """
    times, bars = series.timestamp, len(series)
    days = number_sessions(local_time(times, clock.offset))
    begins = np.append(0, np.flatnonzero(days[1:] != days[:-1]) + 1)
    counted, known = begins, begins
    if clock.parameters:
        ends_at = times[begins] + whole(clock.parameters[0]) * MINUTE_NS
        over = find_bar_ends(times, series.timeframe_ns)
        counted, known = np.searchsorted(times, ends_at), np.searchsorted(over, ends_at)
    known = np.where(days[begins] == days[0], bars, known)
    return np.stack([begins, np.append(begins[1:], bars), counted, known])


class _Tables:
    """Tables of launches, on their way to the device in one go.

    Args:
        places: Where rows of the first market lie; others follow.
        n_bars: T.
        markets: M.
    """

    def __init__(self, places: dict[RowStep, int], n_bars: int, markets: int) -> None:
        self._places, self._bars, self._markets = places, n_bars, markets
        self._parts: list[Ints] = []
        self._tables: list[Ints] = []
        self._numbers: dict[float, int] = {}

    def add(self, steps: Sequence[RowStep], also: Ints | None = None) -> int:
        """Add a table of steps of one form, with other second numbers [n M] if given."""
        table = self.build(steps)
        table[4] = table[4] if also is None else also
        return self.add_table(table)

    def add_table(self, table: Ints) -> int:
        """Add a table; its number."""
        self._tables.append(table)
        return self.add_numbers(table)

    def build(self, steps: Sequence[RowStep]) -> Ints:
        """A table [lines, n M] of steps of one form, which is not added yet."""
        count, places, numbers = len(steps[0].operands), self._places, self._numbers
        table = np.zeros((LINES + count, len(steps)), np.int64)
        table[0], table[2] = [places[step] for step in steps], self._bars
        table[3] = [step.whole for step in steps]
        table[4] = [step.also for step in steps]
        for k in range(count):
            operands = [step.operands[k] for step in steps]
            table[NUMBERS] |= np.array([isinstance(one, float) for one in operands]) << k
            table[LINES + k] = [
                numbers.setdefault(one, len(numbers)) if isinstance(one, float) else places[one]
                for one in operands
            ]
        table = table.repeat(self._markets, axis=1)
        onward = np.tile(np.arange(self._markets) * self._bars, len(steps))
        table[0] += onward
        for k in range(count):
            table[LINES + k] += onward * (1 - (table[NUMBERS] >> k & 1))
        return table

    def add_numbers(self, numbers: Ints) -> int:
        """Add whole numbers; returns which of all tables they are."""
        self._parts.append(numbers)
        return len(self._parts) - 1

    def send(
        self, device: torch.device, locate: Callable[[torch.Tensor], int]
    ) -> list[torch.Tensor]:
        """All of them on the device; the host does not wait for it."""
        values = np.array(list(self._numbers), np.float64).view(np.int64)

        def settle(there: list[torch.Tensor]) -> None:
            first = locate(there[-1])
            for table in self._tables:
                for k, line in enumerate(table[LINES:]):
                    line += first * (table[NUMBERS] >> k & 1)

        return send([*self._parts, values], device, settle)
