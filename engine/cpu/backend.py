"""The CPU backend behind the engine's contract: holds the series, fills rows, runs the stages."""

from collections.abc import Callable, Sequence

import numba
import numpy as np

from data.bars import Bars, Window
from engine.contract import Backend, Room, RowRequest
from engine.costs import Costs
from engine.cpu.chain import begin, chain, stop_distances
from engine.cpu.codes import HIGHEST_CODE
from engine.cpu.evaluate import evaluate, signal_bars
from engine.cpu.filling import RowFiller
from engine.cpu.rows import KINDS
from engine.cpu.threads import Threads
from engine.cpu.types import Floats, Ints, Market, Slots
from engine.errors import DeviceError
from engine.free_memory import free_host_bytes
from engine.ledger import ACCUMULATORS, Ledger
from engine.lowered import entry_of, exits_of
from engine.rows.coders import coders_of
from engine.rows.defined import Definitions
from engine.rows.sources import sources_of
from strategy.spec import StrategySpec


class CpuBackend(Backend):
    """Evaluates populations on the processor's cores.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        costs: Costs and risk rules.
        capacity: Slots for rows; a slot holds one row of every series.
        work_bytes: Not used: what an individual needs fits a core's scratch.
        threads: Cores to use; all of them when None.

    Raises:
        DeviceError: When more threads are asked for than the process may use.
    """

    name = "cpu"

    def __init__(
        self,
        spec: StrategySpec,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int,
        work_bytes: int = 0,
        threads: int | None = None,
    ) -> None:
        self.threads = _checked_threads(threads)
        coders = coders_of(spec, HIGHEST_CODE)
        self._entry = entry_of(spec, coders)
        self._exits = exits_of(spec, costs)
        self._definitions = Definitions(spec, series, self.threads)
        self._warm_ups = np.zeros(capacity, np.int64)
        self._markets = [_market_of(bars, self._warm_ups) for bars in series]
        sources = [sources_of(bars) for bars in series]
        self._workers = Threads(self.threads)
        self._filler = RowFiller(sources, self._markets, coders, self._workers)
        self._longest = max(len(bars) for bars in series)
        self._scratch = np.empty((self.threads, self._longest + 8), np.int32)
        self._distances = np.empty((self.threads, self._longest))

    @staticmethod
    def slot_bytes(series: Sequence[Bars]) -> int:
        """Bytes that one slot takes over all series."""
        return sum(len(bars) for bars in series) * (8 + 1)

    @staticmethod
    def series_bytes(series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows: columns, the sources of rows, and two maps."""
        return sum(len(bars) for bars in series) * 8 * (5 + 7 + 2 * 2)

    @staticmethod
    def free_bytes() -> int:
        """Bytes that are free on this host."""
        return free_host_bytes()

    @staticmethod
    def room(memory_bytes: int, series_bytes: int) -> Room:
        """How an amount of memory is divided: all of it may hold rows."""
        return Room(memory_bytes, 0)

    def fill(self, requests: Sequence[RowRequest]) -> None:
        """Compute rows of any forms into their slots, in every series."""
        slots, bars = self._definitions.warm_ups(requests, self._longest)
        self._warm_ups[slots] = bars
        defined = [request for request in requests if request.form.indicator not in KINDS]
        for slot, series, values in self._definitions.compute(defined):
            self._markets[series].rows[slot] = values
        self._filler.fill(requests)

    def evaluate(self, genomes: Floats, slots: Slots, windows: Sequence[Window]) -> Floats:
        """Accumulators [P, W, A] of genomes [P, G] whose rows are in slots [P, R]."""

        def evaluated(number: int, ranges: Ints, part: Floats) -> None:
            shared = np.zeros(1, np.int64)

            def compute(thread: int) -> None:
                evaluate(self._markets[number], self._entry, self._exits, slots, genomes, ranges,
                         self._scratch[thread], self._distances[thread], shared, part)  # fmt: skip

            self._workers.run(compute, len(genomes))

        return self._in_all_series(len(genomes), windows, evaluated)

    def begin(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], out: Floats
    ) -> Callable[[], None]:
        """Evaluate into out [P, W, A]; there is nothing left to wait for."""
        out[...] = self.evaluate(genomes, slots, windows)
        return lambda: None

    def _in_all_series(
        self,
        individuals: int,
        windows: Sequence[Window],
        run: Callable[[int, Ints, Floats], None],
    ) -> Floats:
        """Accumulators [P, W, A]: `run` with each series' number, ranges [w, 2] and part of it."""
        out = np.full((individuals, len(windows), len(ACCUMULATORS)), np.nan)
        of_series = np.array([window.series for window in windows])
        for number in range(len(self._markets)):
            (places,) = np.nonzero(of_series == number)
            if not len(places):
                continue
            ranges = np.array(
                [(windows[i].start, windows[i].end) for i in places.tolist()], np.int64
            )
            is_all = len(places) == len(windows)
            part = out if is_all else np.empty((individuals, len(places), len(ACCUMULATORS)))
            run(number, ranges, part)
            if not is_all:
                out[:, places] = part
        return out

    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window."""
        market = self._markets[window.series]
        last = window.end - 1 - self._exits.delay
        bars: Slots = signal_bars(market, self._entry, slots, genome, window.start, last)
        return bars

    def _ledger(self, genome: Floats, slots: Slots, window: Window) -> Ledger:
        """The ledger of one individual in one window."""
        bars = self.signals(genome, slots, window)
        # One spare line, because an empty ledger means that none is wanted.
        whole = np.empty((len(bars) + 1, 4), np.int64)
        prices = np.empty((len(bars) + 1, 5))
        out = np.empty(len(ACCUMULATORS))
        market = self._markets[window.series]
        distances = np.empty(len(bars))
        stop_distances(market, self._exits, slots, bars, distances)
        begin(out)
        chain(market, self._exits, genome, bars, distances, window.end, window.start, out, whole,
              prices)  # fmt: skip
        n = int(out[ACCUMULATORS.index("trades")])
        return Ledger(
            signal_bar=whole[:n, 0].copy(),
            entry_bar=whole[:n, 1].copy(),
            exit_bar=whole[:n, 2].copy(),
            reason=whole[:n, 3].astype(np.int8),
            entry=prices[:n, 0].copy(),
            stop=prices[:n, 1].copy(),
            target=prices[:n, 2].copy(),
            exit=prices[:n, 3].copy(),
            r=prices[:n, 4].copy(),
            rejected=int(out[ACCUMULATORS.index("rejected")]),
        )

    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals; arguments as in `evaluate`."""
        return [
            tuple(self._ledger(genome, row, window) for window in windows)
            for genome, row in zip(genomes, slots, strict=True)
        ]

    def rows(self, slot: int, series: int) -> Floats:
        """A copy of one row [T], as it stands in its slot."""
        row: Floats = self._markets[series].rows[slot].copy()
        return row


def _cores() -> int:
    """Threads that the compiled loops may use at most in this process."""
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def _checked_threads(threads: int | None) -> int:
    most = _cores()
    if threads is not None and not 1 <= threads <= most:
        raise DeviceError(f"threads must be 1 to {most} on this machine, got {threads}")
    return threads or most


def _market_of(bars: Bars, warm_ups: Ints) -> Market:
    # Memory is taken page by page as rows are written, not here.
    rows = np.empty((len(warm_ups), len(bars)))
    codes = np.empty(rows.shape, np.uint8)
    return Market(bars.open, bars.high, bars.low, bars.close, rows, codes, warm_ups)
