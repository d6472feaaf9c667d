"""The CPU backend behind the engine's contract: holds the series, fills rows, runs the stages."""

from collections.abc import Callable, Sequence

import numba
import numpy as np

from data.bars import Bars, Window
from engine.backends.coders import coder_maps, coders_of
from engine.backends.contract import AnswersAtOnce, ListsOneByOne, Probe, Room, RowRequest
from engine.backends.cpu.chain import begin, chain, stop_distances
from engine.backends.cpu.codes import HIGHEST_CODE
from engine.backends.cpu.evaluate import evaluate, signal_bars
from engine.backends.cpu.exact import KINDS
from engine.backends.cpu.rows import fill_rows
from engine.backends.cpu.streamed import (
    LONGEST_WINDOW,
    columns_of,
    course_of,
    load_seconds,
    stream,
)
from engine.backends.cpu.types import Floats, Ints, Market, Slots
from engine.backends.lowered import entry_of, exits_of
from engine.backends.sources import sources_of
from engine.costs import Costs
from engine.errors import DeviceError
from engine.ledger import ACCUMULATORS, Ledger
from strategy.spec import StrategySpec

NO_MAP = (np.empty(0), np.empty(0))
"""In place of a coder's map for rows that nothing compares."""

DEFAULT_MEMORY_BYTES = 2**30
"""Room for rows unless told otherwise: one GiB, about 3,400 rows of a year of 15-minute bars."""


class CpuBackend(AnswersAtOnce, ListsOneByOne):
    """Evaluates populations on the processor's cores.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        costs: Costs and risk rules.
        capacity: Slots for rows; a slot holds one row of every series.
        work_bytes: Not used: what an individual needs fits a core's scratch.
        threads: Cores to use; all of them when None.

    `decided_exactly` counts the comparisons of the last streamed call that no bound could decide.

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
        self.probe: Probe | None = None
        self._coders = coders_of(spec, HIGHEST_CODE)
        self._entry = entry_of(spec, self._coders)
        self._exits = exits_of(spec, costs)
        self._sources = [sources_of(bars) for bars in series]
        self._maps = [
            {
                coder: coder_maps(coder, sources, HIGHEST_CODE)
                for coder in set(self._coders.values())
            }
            for sources in self._sources
        ]
        self._markets = [_market_of(bars, capacity) for bars in series]
        longest = max(len(bars) for bars in series)
        self._scratch = np.empty((_cores(), longest + 8), np.int32)
        self._distances = np.empty((_cores(), longest))
        self._course, names = course_of(spec, self._coders)
        self._columns = [columns_of(sources, names, self._course) for sources in self._sources]
        self._is_whole = all(
            bool(np.isfinite(columns.values[self._course.rolling]).all())
            for columns in self._columns
        )
        self.decided_exactly = 0

    @staticmethod
    def slot_bytes(series: Sequence[Bars]) -> int:
        """Bytes that one slot takes over all series."""
        return sum(len(bars) for bars in series) * (8 + 1)

    @staticmethod
    def series_bytes(series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows: columns, those that follow, and for streaming."""
        return sum(len(bars) for bars in series) * (8 + 8 + 4 + 1) * (5 + 2)

    @staticmethod
    def room(memory_bytes: int | None, series_bytes: int) -> Room:
        """How an amount of memory is divided: all of it holds rows, one GiB when None."""
        return Room(DEFAULT_MEMORY_BYTES if memory_bytes is None else memory_bytes, 0)

    def fill(self, requests: Sequence[RowRequest]) -> None:
        """Compute rows in every series.

        Args:
            requests: Rows and where each goes.
        """
        numba.set_num_threads(self.threads)
        for form, lengths, slots in requests:
            coder = self._coders.get(form)
            kind = KINDS[form.indicator]
            of_rows = lengths[:, 0].copy() if lengths.shape[1] else np.zeros(len(lengths), np.int64)
            for sources, market, maps in zip(self._sources, self._markets, self._maps, strict=True):
                values = sources[form.source]
                low, scale = NO_MAP if coder is None else maps[coder]
                fill_rows(values, kind, of_rows, slots, low, scale, market.rows, market.codes)

    def evaluate(self, genomes: Floats, slots: Slots, windows: Sequence[Window]) -> Floats:
        """Accumulators of a chunk whose rows are in their slots.

        Args:
            genomes: [P, G].
            slots: [P, R] slot of each row of the spec.
            windows: [W].

        Returns:
            [P, W, A].
        """
        numba.set_num_threads(self.threads)

        def evaluated(number: int, ranges: Ints, part: Floats) -> None:
            evaluate(self._markets[number], self._entry, self._exits, slots, genomes, ranges,
                     self._scratch, self._distances, part)  # fmt: skip

        return self._in_all_series(len(genomes), windows, evaluated)

    @property
    def load_seconds(self) -> float:
        """About what streaming would cost this process before it begins; 0 where it began."""
        return load_seconds()

    def can_stream(self, genomes: Floats) -> bool:
        """Whether no length of [P, G] is too long, and no rolling row meets values that are NaN."""
        lengths = genomes[:, self._course.warm_columns]
        return self._is_whole and bool((lengths <= LONGEST_WINDOW).all())

    def stream(self, genomes: Floats, windows: Sequence[Window]) -> Floats:
        """Accumulators [P, W, A] of individuals whose rows were never computed.

        Args:
            genomes: [P, G], so that `can_stream` holds.
            windows: [W].

        Returns:
            [P, W, A], in every bit those of `evaluate`.
        """
        self.decided_exactly = 0

        def streamed(number: int, ranges: Ints, part: Floats) -> None:
            self.decided_exactly += stream(
                self._markets[number], self._columns[number], self._course, self._exits, genomes,
                ranges, part, threads=self.threads,
            )  # fmt: skip

        return self._in_all_series(len(genomes), windows, streamed)

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
        bars: Slots = signal_bars(market, self._entry, slots, genome, window.start, window.end - 1)
        return bars

    def trades(self, genome: Floats, slots: Slots, window: Window) -> Ledger:
        """The ledger of one individual in one window; arguments as in `evaluate`."""
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


def _market_of(bars: Bars, capacity: int) -> Market:
    # Memory is taken page by page as rows are written, not here.
    rows = np.empty((capacity, len(bars)))
    codes = np.empty((capacity, len(bars)), np.uint8)
    return Market(bars.open, bars.high, bars.low, bars.close, rows, codes)
