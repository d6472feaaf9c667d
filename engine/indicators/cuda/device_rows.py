"""Rows of a series on the device: adaptive trends are made there, all others on the host.

Which row lies in which slot is known to a bank (`engine.indicators.row_bank`).
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from engine.backend import Ints, iter_parts
from engine.fast_case import find_form
from engine.indicators.cpu.row_arrays import fill_known
from engine.indicators.cuda.trends import Trends
from engine.indicators.trend_spec import TRENDS, has_room, is_trend
from engine.runtime.cpu.threads import Threads
from engine.runtime.cuda.watchdog import move_tensor
from strategy.expressions import Call, Expression
from strategy.model import Strategy
from strategy.nodes import walk
from strategy.rows import Rows, whole


def reads_trends(spec: Strategy) -> bool:
    """Whether a strategy reads rows that are made on the device."""
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
        """Have rows made into slots [n]; `make` is given which of them, and where they belong."""
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


class DeviceRows(GrowingRows):
    """Rows of one series.

    Args:
        host: Of the series, on the host.
        most_bytes: Memory of the device for rows.
        work_bytes: The same for what adaptive trends are made of.
        device: Where rows are wanted.
        workers: Threads that compute rows of the host.
    """

    def __init__(
        self, host: Rows, most_bytes: int, work_bytes: int, device: torch.device, workers: Threads
    ) -> None:
        super().__init__(len(host.series), most_bytes // (8 * len(host.series)), device)
        self.host, self._workers = host, workers
        self._work_bytes, self._device = work_bytes, device
        self._trends: Trends | None = None
        self._largest = float(host.series.close.max(initial=0.0))

    def fill(self, trees: Sequence[Expression], slots: Ints) -> None:
        """Make rows of trees without genes into slots."""
        self.put(slots, lambda some, out: self._make([trees[number] for number in some], out))

    def _make(self, trees: Sequence[Expression], out: torch.Tensor) -> None:
        """Make rows [n, T] of trees without genes."""
        on_host = []
        calls: dict[str, dict[int, Call]] = {name: {} for name in TRENDS}
        for number, tree in enumerate(trees):
            if is_trend(tree) and has_room(self._largest, _lengths(tree)):
                calls[tree.label][number] = tree
            else:
                on_host.append(number)
        for name, by_number in calls.items():
            if by_number:
                rows = self._compute_trends(list(by_number.values()), TRENDS[name])
                _put(list(by_number), out, rows)
        if on_host:
            _put(
                on_host,
                out,
                move_tensor(self._from_host([trees[k] for k in on_host]), self._device),
            )

    def _compute_trends(self, calls: Sequence[Call], is_script: bool) -> torch.Tensor:
        if self._trends is None:
            # Sides, averages and what rows are made of take a share each.
            close = self.host.series.close
            self._trends = Trends(close[None], self._work_bytes // 3, self._device)
        tuples = [
            [whole(parameter) for parameter in call.parameters]
            for call in calls
            if isinstance(call, Call)
        ]
        return self._trends.rows(np.array(tuples), is_script=is_script)[:, 0]

    def _from_host(self, trees: Sequence[Expression]) -> torch.Tensor:
        host = torch.empty((len(trees), len(self.host.series)), dtype=torch.float64)
        values, forms = host.numpy(), [find_form(tree) for tree in trees]
        names = {index: form for index, form in enumerate(forms) if form is not None}
        if names:
            indices = np.array(list(names))
            fill_known(self.host, list(names.values()), indices, values, self._workers)
        others = [index for index, form in enumerate(forms) if form is None]

        def work(thread: int) -> None:
            for index in others[thread :: self._workers.count]:
                # What is the same at every bar may be one number.
                values[index] = self.host.of(trees[index])

        self._workers.run(work, len(others))
        return host


def _lengths(call: Call) -> tuple[int, ...]:
    """Base lengths of an adaptive trend's families."""
    return tuple(whole(parameter) for parameter in call.parameters[:6])


def _put(places: list[int], out: torch.Tensor, rows: torch.Tensor) -> None:
    """Copy rows to where they are wanted; without an index where that is a stretch."""
    first, last = places[0], places[-1] + 1
    if last - first == len(places):
        out[first:last] = rows
        return
    for number, row in zip(places, rows, strict=True):
        out[number] = row
