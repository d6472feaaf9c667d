"""Rows of markets on the device, made there; rows without a form there are sent.

Which row lies in which slot is known to a bank (`engine.indicators.row_bank`).
"""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import torch

from engine.backend import Ints, iter_parts
from engine.indicators.cpu.trends import TrendForm
from engine.indicators.cuda.row_steps import GIVEN
from engine.indicators.cuda.step_rows import StepRows
from engine.indicators.cuda.trends import Trends
from engine.indicators.trend_spec import TRENDS, is_trend
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
        first: Slots that there is room for at first.
        markets: M, of each of which a slot has a row.

    `values` are the rows [room M, T].
    """

    def __init__(
        self,
        n_bars: int,
        most: int,
        device: torch.device,
        kind: torch.dtype = torch.float64,
        *,
        first: int = FIRST_ROWS,
        markets: int = 1,
    ) -> None:
        self.most, self.markets = max(most, 1), markets
        self.first = min(first, self.most)
        shape = self.first * markets, n_bars
        self.values = torch.empty(shape, dtype=kind, device=device)

    def put(self, slots: Ints, make: Callable[[Ints, torch.Tensor], None]) -> None:
        """Have rows made into slots [n]; `make` gets numbers of slots, and their rows."""
        each = self.markets
        room, needed = len(self.values) // each, int(slots.max(initial=-1)) + 1
        if needed > room:
            old = self.values
            shape = min(max(2 * room, needed), self.most) * each, old.shape[1]
            self.values = torch.empty(shape, dtype=old.dtype, device=old.device)
            self.values[: room * each] = old
        numbers = np.arange(len(slots))
        if (slots == slots[:1] + numbers).all():
            make(numbers, self.values[(needed - len(slots)) * each : needed * each])
            return
        for part in iter_parts(len(slots), max(TOGETHER // each, 1)):
            made = torch.empty_like(self.values[: len(part) * each])
            make(part, made)
            places = slots[part, None].astype(np.int64) * each + np.arange(each)
            self.values.index_copy_(0, to_device(places.ravel(), made.device), made)


class SeriesRows:
    """Makes rows of M markets with the same times; of each tree one row a market.

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
        self._trends: Trends | None = None
        self._higher: dict[tuple[int, int], tuple[SeriesRows, torch.Tensor]] = {}

    def make(self, trees: Sequence[Expression], out: torch.Tensor) -> None:
        """Make rows of trees without genes into out [n M, T]."""
        steps = [self._steps.find(tree) for tree in trees]
        given = [number for number, step in enumerate(steps) if step.form == GIVEN]
        if given:
            self._put(given, out, self._give([trees[number] for number in given]))
        made = [number for number, step in enumerate(steps) if step.form != GIVEN]
        self._steps.make([steps[number] for number in made], out, made)

    def _give(self, trees: Sequence[Expression]) -> torch.Tensor:
        """Rows [n M, T] of trees that no step makes."""
        shape = len(trees) * len(self._hosts), self.n_bars
        out = torch.empty(shape, dtype=torch.float64, device=self._device)
        alike: dict[object, list[int]] = {}
        for number, tree in enumerate(trees):
            kind: object = None
            if isinstance(tree, Higher):
                kind = tree.minutes, tree.offset
            elif is_trend(tree):
                kind = TRENDS[tree.label]
            alike.setdefault(kind, []).append(number)
        for kind, numbers in alike.items():
            some = [trees[number] for number in numbers]
            if kind is None:
                made = move_tensor(self._from_host(some), self._device)
            elif isinstance(kind, bool):
                made = self._compute_trends(some, is_script=kind)
            else:
                made = self._from_higher(some)
            self._put(numbers, out, made)
        return out

    def _compute_trends(self, calls: Sequence[Expression], *, is_script: bool) -> torch.Tensor:
        if self._trends is None:
            # Sides and what rows are made of take a share each.
            closes = [host.series.close for host in self._hosts]
            form, most = cast(TrendForm, self._hosts[0].run), self._trend_bytes // 3
            self._trends = Trends(closes, form, most, self._device, self._workers)
        tuples = [
            [whole(parameter) for parameter in call.parameters]
            for call in calls
            if isinstance(call, Call)
        ]
        return self._trends.rows(np.array(tuples), is_script=is_script).flatten(0, 1)

    def _from_higher(self, trees: Sequence[Expression]) -> torch.Tensor:
        """Rows [n M, T] of higher bars, of one length."""
        inner = [tree.inner for tree in trees if isinstance(tree, Higher)]
        (key,) = {(tree.minutes, tree.offset) for tree in trees if isinstance(tree, Higher)}
        if key not in self._higher:
            hosts = [host.higher(*key)[0] for host in self._hosts]
            _, newest = self._hosts[0].higher(*key)
            rows = SeriesRows(
                hosts, self._step_bytes, self._trend_bytes, self._device, self._workers
            )
            # Behind the last bar stands an unknown one.
            places = np.where(newest < 0, len(hosts[0].series), newest)
            self._higher[key] = rows, to_device(places, self._device)
        rows, there = self._higher[key]
        shape = len(trees) * len(self._hosts), rows.n_bars
        made = torch.empty(shape, dtype=torch.float64, device=self._device)
        if rows.n_bars:
            rows.make(inner, made)
        return torch.nn.functional.pad(made, (0, 1), value=torch.nan)[:, there]

    def _from_host(self, trees: Sequence[Expression]) -> torch.Tensor:
        made = torch.empty((len(trees) * len(self._hosts), self.n_bars), dtype=torch.float64)
        values = made.numpy()

        def work(thread: int) -> None:
            for index in range(thread, len(values), self._workers.count):
                number, market = divmod(index, len(self._hosts))
                # A row that is equal at every bar may be one number.
                values[index] = self._hosts[market].of(trees[number])

        self._workers.run(work, len(values))
        return made

    def _put(self, places: list[int], out: torch.Tensor, rows: torch.Tensor) -> None:
        """Copy rows [n M, T] to the trees with these numbers; at once if these are a stretch."""
        each, first, last = len(self._hosts), places[0], places[-1] + 1
        if last - first == len(places):
            out[first * each : last * each] = rows
            return
        for number, of_tree in zip(places, rows.view(len(places), each, -1), strict=True):
            out[number * each : (number + 1) * each] = of_tree


class DeviceRows(GrowingRows):
    """Rows of markets in slots.

    Args:
        hosts: Of each market, on the host.
        first_bytes: Memory for rows at first, if a search may ask for so many.
        n_rows: Rows that one may ask for.
        most_bytes: Memory of the device for rows.
        step_bytes, trend_bytes, device, workers: As of `SeriesRows`.
    """

    def __init__(
        self,
        hosts: Sequence[Rows],
        first_bytes: int,
        n_rows: int,
        most_bytes: int,
        step_bytes: int,
        trend_bytes: int,
        device: torch.device,
        workers: Threads,
    ) -> None:
        n_bars, markets = len(hosts[0].series), len(hosts)
        row_bytes = 8 * n_bars * markets
        first = max(FIRST_ROWS, min(n_rows, first_bytes // row_bytes))
        super().__init__(n_bars, most_bytes // row_bytes, device, first=first, markets=markets)
        self.hosts = hosts
        self._made = SeriesRows(hosts, step_bytes, trend_bytes, device, workers)

    def fill(self, trees: Sequence[Expression], slots: Ints) -> None:
        """Make rows of trees without genes into slots."""
        self.put(slots, lambda some, out: self._made.make([trees[n] for n in some], out))
