"""The CPU backend behind the engine's contract: holds the series, fills rows, runs the stages."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

import numba
import numpy as np

from data.bars import Bars, Window
from engine.contract import Backend, Room, RowRequest
from engine.costs import Costs
from engine.cpu.codes import HIGHEST_CODE
from engine.cpu.evaluate import evaluate, signal_bars
from engine.cpu.filling import RowFiller
from engine.cpu.rows import KINDS
from engine.cpu.threads import Threads
from engine.cpu.types import Floats, Ints, Market, Slots
from engine.errors import DeviceError
from engine.free_memory import free_host_bytes
from engine.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, Ledger
from engine.lowered import entry_of, exits_of
from engine.rows.coders import coders_of
from engine.rows.defined import Definitions
from engine.rows.sources import sources_of
from strategy.spec import StrategySpec

TRADES, REJECTED = ACCUMULATOR_INDEX["trades"], ACCUMULATOR_INDEX["rejected"]


class _Listed(NamedTuple):
    """Where the trades of ledgers go.

    Args:
        firsts: [P, W] place of each ledger's first trade.
        whole: [K, 4] whole numbers of all trades, as the chain writes them.
        prices: [K, 5] their prices.
    """

    firsts: Ints
    whole: Ints
    prices: Floats

    def of(self, places: Ints) -> "_Listed":
        """The same for some of the windows."""
        if not self.firsts.size:
            return self
        return self._replace(firsts=np.ascontiguousarray(self.firsts[:, places]))


NO_LEDGERS = _Listed(np.empty((0, 0), np.int64), np.empty((0, 4), np.int64), np.empty((0, 5)))


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
    free_share = 0.5

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
        self.threads = checked_threads(threads)
        self._spec = spec
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

    def charged(self, costs: Costs) -> "CpuBackend":
        """The same with other costs; rows serve both."""
        other = copy(self)
        other._exits = exits_of(self._spec, costs)
        return other

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
        return self._folded(genomes, slots, windows, NO_LEDGERS)

    def begin(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], out: Floats
    ) -> Callable[[], None]:
        """Evaluate into out [P, W, A]; there is nothing left to wait for."""
        out[...] = self.evaluate(genomes, slots, windows)
        return lambda: None

    def _folded(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], listed: _Listed
    ) -> Floats:
        """Accumulators [P, W, A], with the trades of all ledgers where they are wanted."""
        out = np.full((len(genomes), len(windows), len(ACCUMULATORS)), np.nan)
        of_series = np.array([window.series for window in windows])
        for number, market in enumerate(self._markets):
            (places,) = np.nonzero(of_series == number)
            if len(places):
                ranges = [(windows[i].start, windows[i].end) for i in places.tolist()]
                # The loops want their windows side by side, as they are where there is one series.
                is_all = len(places) == len(windows)
                part = out if is_all else np.empty((len(genomes), len(places), out.shape[2]))
                chosen = listed if is_all else listed.of(places)
                self._evaluate(market, slots, genomes, np.array(ranges, np.int64), part, chosen)
                if not is_all:
                    out[:, places] = part
        return out

    def _evaluate(
        self,
        market: Market,
        slots: Slots,
        genomes: Floats,
        ranges: Ints,
        out: Floats,
        listed: _Listed,
    ) -> None:
        """Evaluate in ranges [W, 2] of one series, on all threads."""
        shared = np.zeros(1, np.int64)

        def compute(thread: int) -> None:
            evaluate(market, self._entry, self._exits, slots, genomes, ranges,
                     self._scratch[thread], self._distances[thread], shared, out,
                     *listed)  # fmt: skip

        self._workers.run(compute, len(genomes))

    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window."""
        market = self._markets[window.series]
        last = window.end - 1 - self._exits.delay
        bars: Slots = signal_bars(market, self._entry, slots, genome, window.start, last)
        return bars

    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals; arguments as in `evaluate`."""
        # How many trades there are is known only after all were made once.
        counts = self.evaluate(genomes, slots, windows)[:, :, TRADES].astype(np.int64)
        ends = counts.cumsum().reshape(counts.shape)
        firsts, n = ends - counts, int(counts.sum())
        listed = _Listed(firsts, np.empty((n, 4), np.int64), np.empty((n, 5)))
        rejected = self._folded(genomes, slots, windows, listed)[:, :, REJECTED].astype(np.int64)
        return _trades_of(listed).cut(counts, rejected)

    def rows(self, slot: int, series: int) -> Floats:
        """A copy of one row [T], as it stands in its slot."""
        row: Floats = self._markets[series].rows[slot].copy()
        return row


def _trades_of(listed: _Listed) -> Ledger:
    """The trades of all ledgers, one after the other; all of them are longs."""
    signal, entry_bar, exit_bar, reason = np.ascontiguousarray(listed.whole.T)
    entry, stop, target, leave, r = np.ascontiguousarray(listed.prices.T)
    return Ledger(
        signal, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
        np.ones(len(signal), np.int8), stop,
    )  # fmt: skip


def _cores() -> int:
    """Threads that the compiled loops may use at most in this process."""
    return int(numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]


def checked_threads(threads: int | None) -> int:
    """How many threads to use; all cores when None, never more than there are."""
    most = _cores()
    if threads is not None and not 1 <= threads <= most:
        raise DeviceError(f"threads must be 1 to {most} on this machine, got {threads}")
    return threads or most


def _market_of(bars: Bars, warm_ups: Ints) -> Market:
    # Memory is taken page by page as rows are written, not here.
    rows = np.empty((len(warm_ups), len(bars)))
    codes = np.empty(rows.shape, np.uint8)
    return Market(bars.open, bars.high, bars.low, bars.close, rows, codes, warm_ups)
