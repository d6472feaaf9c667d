"""Rows by their readable definitions, on the host: for indicators that a device has no code for."""

from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from threading import Lock

import numpy as np

from data.bars import Bars
from engine.compiling.forms import CompiledForm
from engine.contract import Floats, Form, Ints, RowRequest
from engine.errors import EngineError
from engine.rows.sources import sources_of
from strategy.spec import StrategySpec

TOGETHER = 256
"""Rows that threads compute before the first of them is taken, at most."""


DefinedRow = tuple[int, int, Floats]
"""Slot, number of the series, and the row [T]."""


class Definitions:
    """What the indicators of a strategy say of themselves.

    Args:
        spec: The strategy.
        series: Bars that rows are made of.
        threads: Cores for definitions that can be compiled; others run on one.
        readers: Devices that ask for the same rows. The first that does has them computed, and
            the last lets them go.
    """

    def __init__(
        self, spec: StrategySpec, series: Sequence[Bars], threads: int, *, readers: int = 1
    ) -> None:
        self._kinds = {Form.of(row): row.kind for row in spec.rows}
        self._series, self._threads = series, threads
        self._compiled = CompiledForm()
        self._readers, self._lock = readers, Lock()
        self._taken: dict[Hashable, tuple[Future[Floats], int]] = {}

    def warm_ups(self, requests: Sequence[RowRequest], most: int) -> tuple[Ints, Ints]:
        """Slots [n] of rows, and the bars [n], at most `most`, before the first that may signal.

        A row that the strategy does not read has no warm-up.
        """
        bars = [
            min(self._kinds[form].warm_up_of(row), most) if form in self._kinds else 0
            for form, parameters, _ in requests
            for row in parameters.tolist()
        ]
        slots = np.concatenate([np.zeros(0, np.int64), *(r.slots for r in requests)])
        return slots, np.array(bars, np.int64)

    def compute(self, requests: Sequence[RowRequest]) -> Iterator[DefinedRow]:
        """Compute rows by their definitions in every series, one after another as they are done.

        Raises:
            IndicatorError: When a definition fails, or gives what is no row.
        """
        unknown = {form.indicator for form, *_ in requests if form not in self._kinds}
        if unknown:
            raise EngineError(f"the strategy has no indicator {min(unknown)!r}")
        for form, parameters, slots in requests:
            of_rows = zip(parameters.tolist(), slots.tolist(), strict=True)
            tasks = [(form, *row, number) for row in of_rows for number in range(len(self._series))]
            # The first one finds out whether the definition can be compiled.
            yield self._row(tasks[0])
            is_plain = self._kinds[form].loop.__name__ in self._compiled.uncompiled
            with ThreadPoolExecutor(1 if is_plain else self._threads, "definitions") as pool:
                for begin in range(1, len(tasks), TOGETHER):
                    yield from pool.map(self._row, tasks[begin : begin + TOGETHER])

    def _row(self, task: tuple[Form, list[float], int, int]) -> DefinedRow:
        form, parameters, slot, number = task
        with self._lock:
            new: Future[Floats] = Future()
            row, left = self._taken.pop((form, *parameters, number), (new, self._readers))
            if left > 1:
                self._taken[form, *parameters, number] = row, left - 1
        if row is new:
            try:
                values = self._sources[number][form.source]
                row.set_result(self._kinds[form].row(values, parameters, self._compiled))
            except Exception as error:
                row.set_exception(error)
        return slot, number, row.result()

    @cached_property
    def _sources(self) -> list[dict[str, Floats]]:
        return [sources_of(bars) for bars in self._series]
