"""Rows of markets on the device, made there; rows without a form there are sent.

Which row lies in which slot is known to a bank (`engine.indicators.row_bank`).
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from engine.backend import Ints, iter_parts
from engine.indicators.cuda.row_steps import GIVEN, MarketRow
from engine.indicators.cuda.step_rows import StepRows
from engine.indicators.cuda.trends import Trends
from engine.indicators.trend_spec import TRENDS, has_room, is_trend
from engine.runtime.cpu.threads import Threads
from engine.runtime.cuda.watchdog import move_tensor, to_device
from strategy.expressions import Call, Expression, Higher
from strategy.model import Strategy
from strategy.nodes import walk
from strategy.rows import Rows, whole


def reads_trends(spec: Strategy) -> bool:
    """True if a strategy reads rows that are made on the device."""
    return any(is_trend(node) for expression in spec.expressions for node in walk(expression))


FIRST_ROWS, TOGETHER = 64, 256
"""Room for rows at first, which is doubled when it is full; and rows that are made at once where
they do not lie side by side."""


class GrowingRows:
    """Rows in slots, with room for as many as were put there.

    Args:
        n_bars: T.
        most: Slots.
        device: Where they lie.
        kind: Of their values.
        first: Rows that there is room for at first.

    `values` are the rows [room, T].
    """

    def __init__(
        self,
        n_bars: int,
        most: int,
        device: torch.device,
        kind: torch.dtype = torch.float64,
        *,
        first: int = FIRST_ROWS,
    ) -> None:
        self.most = max(most, 1)
        self.values = torch.empty((min(first, self.most), n_bars), dtype=kind, device=device)

    def put(self, slots: Ints, make: Callable[[Ints, torch.Tensor], None]) -> None:
        """Have rows made into slots [n]; `make` gets the numbers of rows and their slots."""
        room, needed = len(self.values), int(slots.max(initial=-1)) + 1
        if needed > room:
            old = self.values
            shape = min(max(2 * room, needed), self.most), old.shape[1]
            self.values = torch.empty(shape, dtype=old.dtype, device=old.device)
            self.values[:room] = old
        numbers = np.arange(len(slots))
        if (slots == slots[:1] + numbers).all():
            make(numbers, self.values[needed - len(slots) : needed])
            return
        for part in iter_parts(len(slots), TOGETHER):
            made = torch.empty_like(self.values[: len(part)])
            make(part, made)
            for row, slot in zip(made, slots[part].tolist(), strict=True):
                self.values[slot] = row


class SeriesRows:
    """Makes rows of markets with the same times, those of a kind together.

    Args:
        hosts: Of each market, on the host.
        step_bytes: Memory of the device for rows that others are made of.
        trend_bytes: The same for what adaptive trends are made of.
        device: Where rows are wanted.
        workers: Threads that compute rows of the host.

    Attributes:
        n_bars: T.
    """

    def __init__(
        self,
        hosts: Sequence[Rows],
        step_bytes: int,
        trend_bytes: int,
        device: torch.device,
        workers: Threads,
    ) -> None:
        self._hosts, self._workers, self._device = hosts, workers, device
        self._step_bytes, self._trend_bytes = step_bytes, trend_bytes
        self.n_bars = len(hosts[0].series)
        self._steps = StepRows(hosts, device, self._give, step_bytes)
        self._trends: dict[int, Trends] = {}
        self._higher: dict[tuple[int, int], tuple[SeriesRows, torch.Tensor]] = {}
        self._largest = [float(host.series.close.max(initial=0.0)) for host in hosts]

    def make(self, rows: Sequence[MarketRow], out: torch.Tensor) -> None:
        """Make rows into out [n, T]."""
        steps = [self._steps.find(row) for row in rows]
        given = [number for number, step in enumerate(steps) if step.form == GIVEN]
        if given:
            _put(given, out, self._give([rows[number] for number in given]))
        made = [number for number, step in enumerate(steps) if step.form != GIVEN]
        self._steps.make([steps[number] for number in made], out, made)

    def _give(self, rows: Sequence[MarketRow]) -> torch.Tensor:
        """Rows [n, T] that no step makes."""
        out = torch.empty((len(rows), self.n_bars), dtype=torch.float64, device=self._device)
        alike: dict[object, list[int]] = {}
        for number, (market, tree) in enumerate(rows):
            kind: object = None
            if isinstance(tree, Higher):
                kind = tree.minutes, tree.offset
            elif is_trend(tree) and has_room(self._largest[market], _lengths(tree)):
                kind = market, TRENDS[tree.label]
            alike.setdefault(kind, []).append(number)
        for kind, numbers in alike.items():
            some = [rows[number] for number in numbers]
            if kind is None:
                made = move_tensor(self._from_host(some), self._device)
            elif isinstance(some[0].tree, Higher):
                made = self._from_higher(some)
            else:
                made = self._compute_trends(some)
            _put(numbers, out, made)
        return out

    def _compute_trends(self, rows: Sequence[MarketRow]) -> torch.Tensor:
        """Rows [n, T] of adaptive trends of one kind and market."""
        market, tree = rows[0]
        assert is_trend(tree)
        if market not in self._trends:
            # Sides, averages and what rows are made of take a share each.
            most = self._trend_bytes // (3 * len(self._hosts))
            close = self._hosts[market].series.close
            self._trends[market] = Trends(close[None], most, self._device)
        tuples = [
            [whole(parameter) for parameter in row.tree.parameters]
            for row in rows
            if isinstance(row.tree, Call)
        ]
        is_script = TRENDS[tree.label]
        return self._trends[market].rows(np.array(tuples), is_script=is_script)[:, 0]

    def _from_higher(self, rows: Sequence[MarketRow]) -> torch.Tensor:
        """Rows [n, T] of higher bars, of one length."""
        trees = [row.tree for row in rows if isinstance(row.tree, Higher)]
        inner = [MarketRow(row.market, tree.inner) for row, tree in zip(rows, trees, strict=True)]
        (key,) = {(tree.minutes, tree.offset) for tree in trees}
        if key not in self._higher:
            hosts = [host.higher(*key)[0] for host in self._hosts]
            _, newest = self._hosts[0].higher(*key)
            higher = SeriesRows(
                hosts, self._step_bytes, self._trend_bytes, self._device, self._workers
            )
            # Behind the last bar stands an unknown one.
            places = np.where(newest < 0, len(hosts[0].series), newest)
            self._higher[key] = higher, to_device(places, self._device)
        higher, there = self._higher[key]
        shape = len(rows), higher.n_bars + 1
        made = torch.full(shape, torch.nan, dtype=torch.float64, device=self._device)
        if higher.n_bars:
            higher.make(inner, made[:, :-1])
        return made[:, there]

    def _from_host(self, rows: Sequence[MarketRow]) -> torch.Tensor:
        host = torch.empty((len(rows), self.n_bars), dtype=torch.float64)
        values = host.numpy()

        def work(thread: int) -> None:
            for index in range(thread, len(rows), self._workers.count):
                # A row that is equal at every bar may be one number.
                market, tree = rows[index]
                values[index] = self._hosts[market].of(tree)

        self._workers.run(work, len(rows))
        return host


class DeviceRows(GrowingRows):
    """Rows of markets in slots.

    Args:
        hosts: Of each market, on the host.
        most_bytes: Memory of the device for rows.
        step_bytes, trend_bytes, device, workers: As of `SeriesRows`.
    """

    def __init__(
        self,
        hosts: Sequence[Rows],
        most_bytes: int,
        step_bytes: int,
        trend_bytes: int,
        device: torch.device,
        workers: Threads,
    ) -> None:
        n_bars = len(hosts[0].series)
        first = FIRST_ROWS * len(hosts)
        super().__init__(n_bars, most_bytes // (8 * n_bars), device, first=first)
        self.hosts = hosts
        self._made = SeriesRows(hosts, step_bytes, trend_bytes, device, workers)

    def fill(self, rows: Sequence[MarketRow], slots: Ints) -> None:
        """Make rows into slots."""
        self.put(slots, lambda some, out: self._made.make([rows[n] for n in some], out))


def _lengths(call: Call) -> tuple[int, ...]:
    """Base lengths of an adaptive trend's families."""
    return tuple(whole(parameter) for parameter in call.parameters[:6])


def _put(places: list[int], out: torch.Tensor, rows: torch.Tensor) -> None:
    """Copy rows to their places; without an index if these are a stretch."""
    first, last = places[0], places[-1] + 1
    if last - first == len(places):
        out[first:last] = rows
        return
    for number, row in zip(places, rows, strict=True):
        out[number] = row
