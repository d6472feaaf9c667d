"""A backend that stands already, for another engine in its process."""

from collections.abc import Callable, Sequence

import numpy as np

from data.bars import Bars, Window
from engine.backends.contract import (
    AnswersLater,
    Backend,
    Floats,
    Form,
    Ints,
    Room,
    Slots,
    StretchedRows,
)
from engine.backends.isolated.child import Made
from engine.costs import Costs
from engine.errors import DeviceLostError
from engine.ledger import Ledger
from strategy.spec import StrategySpec


class LentMaker:
    """Makes nothing: it hands out what was made, with as many slots and as much room.

    Args:
        made: The backend, and what it was made for.
    """

    def __init__(self, made: Made) -> None:
        self._made = made

    def slot_bytes(self, series: Sequence[Bars]) -> int:
        """One: memory was divided when the backend was made, only slots are counted."""
        return 1

    def series_bytes(self, series: Sequence[Bars]) -> int:
        """None beside those that lie there."""
        return 0

    def room(self, memory_bytes: int | None, series_bytes: int) -> Room:
        """What the backend was made with, in slots and bytes."""
        return Room(self._made.capacity, self._made.work_bytes)

    def __call__(
        self,
        spec: StrategySpec,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int,
        work_bytes: int,
        threads: int | None = None,
    ) -> Backend:
        """The backend; who asks has forgotten all rows."""
        asked = (spec, tuple(map(len, series)), costs, capacity, work_bytes)
        assert asked == self._made[1:]
        return WatchedBackend(self._made.backend)


class WatchedBackend(AnswersLater):
    """A backend whose results are looked at, as those that cross to another process are.

    Args:
        backend: Whom the device leaves out, or gives no number, it fails on.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.name, self.threads, self.probe = backend.name, backend.threads, backend.probe

    def fill(self, form: Form, lengths: Ints, slots: Ints) -> None:
        """Compute rows into slots, as in `Backend`."""
        self._backend.fill(form, lengths, slots)

    def begin(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], out: Floats
    ) -> Callable[[], None]:
        """Start to evaluate into out [P, W, A]; what is returned waits, and looks."""
        mark(out)
        wait = self._backend.begin(genomes, slots, windows, out)

        def done() -> None:
            wait()
            refuse_marks(out)

        return done

    def try_begin(
        self, genomes: Floats, windows: Sequence[Window], out: Floats
    ) -> Callable[[], bool] | None:
        """The same, with rows looked up by the device itself, as in `Backend`."""
        mark(out)
        wait = self._backend.try_begin(genomes, windows, out)
        if wait is None:
            return None

        def done() -> bool:
            is_well = wait()
            if is_well:
                refuse_marks(out)
            return is_well

        return done

    def evaluate_in_stretches(
        self, rows: StretchedRows, windows: Sequence[Window], out: Floats
    ) -> bool:
        """Evaluate into out [P, W, A] a stretch of bars at a time, as in `Backend`."""
        mark(out)
        is_done = self._backend.evaluate_in_stretches(rows, windows, out)
        if is_done:
            refuse_marks(out)
        return is_done

    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S], as in `Backend`."""
        return self._backend.signals(genome, slots, window)

    def trades(self, genome: Floats, slots: Slots, window: Window) -> Ledger:
        """The ledger of one individual in one window, as in `Backend`."""
        return self._backend.trades(genome, slots, window)

    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals, as in `Backend`."""
        return self._backend.ledgers(genomes, slots, windows)

    def rows(self, slot: int, series: int) -> Floats:
        """A copy of one row [T], as in `Backend`."""
        return self._backend.rows(slot, series)


def mark(out: Floats) -> None:
    """Mark every pair of individual and window of out [P, W, A] as not evaluated."""
    out[..., :1] = np.nan


def refuse_marks(out: Floats) -> None:
    """Look whether all of out [P, W, A] are numbers.

    Raises:
        DeviceLostError: When one is not.
    """
    if np.isnan(out.min(initial=0.0)):
        raise DeviceLostError("the device left somebody out, or gave no numbers")
