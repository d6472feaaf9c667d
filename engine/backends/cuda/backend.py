"""The CUDA backend behind the engine's contract: series and rows on the device, stages launched."""

import logging
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from data.bars import Bars, Window
from engine.backends.coders import coder_maps, coders_of
from engine.backends.contract import Floats, Form, Ints, Slots
from engine.backends.cuda.chain import count_kernel, fold_kernel, gather_kernel, take_kernel
from engine.backends.cuda.exits import exit_kernel
from engine.backends.cuda.faults import device_errors
from engine.backends.cuda.launch import launch
from engine.backends.cuda.rows import code_kernel, ema_kernel, rolling_kernel
from engine.backends.cuda.signals import list_kernel, mask_kernel
from engine.backends.cuda.types import Chunk, Signals, Trades
from engine.backends.lowered import entry_of, exits_of
from engine.backends.sources import sources_of
from engine.costs import Costs
from engine.errors import DeviceError
from engine.ledger import ACCUMULATORS, Ledger
from strategy.spec import StrategySpec

LOG = logging.getLogger(__name__)

HIGHEST_CODE = 126
"""Codes have seven bits, so that four of them can be compared in one word."""

ALIGNED_BARS = 32
"""Series begin at whole masks."""

SCRATCH_BYTES = 2**28
"""Room for the sums of rolling rows that are computed together."""

LIST_BYTES = 2**32
"""Room for the lists of signals of the pairs that are evaluated together."""

LANES = 32
"""Pairs that a warp walks through together."""

SIGNALS = 32
"""Signals whose exits a warp looks for together."""

MOST_BARS = 2**30
"""Bars of all series together, so that their numbers and their blocks' fit 32 bits."""

MOST_INDIVIDUALS = 2**17
"""Evaluated together at most: a grid has 65,535 programs along its second axis."""

BLOCK_BARS = 16
"""Bars whose extremes are looked at first; series begin at whole blocks."""

PROGRAMS = 16_384
"""Programs that keep a large device busy."""

FIRST_CAPACITY = 1024
"""Signals that a list holds at first; a list that was too short is doubled and made again."""


class CudaBackend:
    """Evaluates populations on one GPU.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        costs: Costs and risk rules.
        capacity: Slots for rows; a slot holds one row of every series.
        threads: Not used by a GPU.
        torch_device: Name of the device to torch.

    Raises:
        DeviceError: When the bars of all series together are too many for 32-bit bar numbers; from
            any method when the device fails. Out of memory while evaluating is met with smaller
            chunks first, which changes no bit.
    """

    name = "cuda"

    @device_errors
    def __init__(
        self,
        spec: StrategySpec,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int,
        threads: int | None = None,
        torch_device: str = "cuda",
    ) -> None:
        self.threads = threads or 1
        self._device = torch.device(torch_device)
        self._coders = coders_of(spec, HIGHEST_CODE)
        self._entry = entry_of(spec, self._coders)
        self._exits = exits_of(spec, costs)
        self._costs = self._to_device(
            np.array([self._exits.per_side, self._exits.min_risk, self._exits.risk_fraction])
        )
        lengths = np.array([len(bars) for bars in series], np.int64)
        padded = -(-lengths // ALIGNED_BARS) * ALIGNED_BARS
        self._starts = np.concatenate(([0], np.cumsum(padded)[:-1])).astype(np.int64)
        self._n_bars = int(padded.sum())
        if self._n_bars >= MOST_BARS:
            raise DeviceError(f"{self._n_bars:,} bars are too many for one device")
        self._series_starts = self._to_device(self._starts)
        self._series_ends = self._to_device(self._starts + lengths)
        self._longest = int(lengths.max())
        all_sources = [sources_of(bars) for bars in series]
        self._sources = {
            name: self._joined([sources[name] for sources in all_sources], 0.0)
            for name in all_sources[0]
        }
        lows, highs = self._sources["low"], self._sources["high"]
        self._lows = torch.cat((lows, lows.view(-1, BLOCK_BARS).amin(1)))
        self._highs = torch.cat((highs, highs.view(-1, BLOCK_BARS).amax(1)))
        self._maps = {
            coder: tuple(
                self._joined(list(maps), 1.0)
                for maps in zip(
                    *(coder_maps(coder, sources, HIGHEST_CODE) for sources in all_sources),
                    strict=True,
                )
            )
            for coder in set(self._coders.values())
        }
        self._rows = torch.empty((capacity, self._n_bars), dtype=torch.float64, device=self._device)
        self._codes = torch.zeros((capacity, self._n_bars), dtype=torch.uint8, device=self._device)
        self._capacity = FIRST_CAPACITY
        self._most = MOST_INDIVIDUALS

    @staticmethod
    def slot_bytes(series: Sequence[Bars]) -> int:
        """Bytes that one slot takes over all series."""
        return sum(-(-len(bars) // ALIGNED_BARS) * ALIGNED_BARS for bars in series) * (8 + 1)

    @device_errors
    def fill(self, form: Form, lengths: Ints, slots: Ints) -> None:
        """Compute rows of one form in every series.

        Args:
            form: Indicator and source.
            lengths: [n, L] lengths of each row.
            slots: [n] where each row goes.
        """
        values = self._sources[form.source]
        on_device = self._to_device(slots.astype(np.int32))
        if form.indicator == "level":
            self._rows[on_device.long()] = values
        elif form.indicator == "ema":
            self._fill_ema(values, self._to_device(lengths[:, 0].astype(np.int32)), on_device)
        else:
            self._fill_rolling(form, values, lengths[:, 0], slots)
        coder = self._coders.get(form)
        if coder is not None:
            low, scale = self._maps[coder]
            block = 1024
            grid = (len(slots), -(-self._n_bars // block))
            launch(code_kernel, grid, on_device, low, scale, self._rows, self._codes, self._n_bars,
                   self._n_bars, HIGHEST=HIGHEST_CODE, BLOCK=block)  # fmt: skip

    @device_errors
    def evaluate(
        self, genomes: Floats, slots: Slots, warm_up: Ints, windows: Sequence[Window]
    ) -> Floats:
        """Accumulators of a chunk whose rows are in their slots.

        Args:
            genomes: [P, G].
            slots: [P, R] slot of each row of the spec.
            warm_up: [P] first bar that may signal.
            windows: [W].

        Returns:
            [P, W, A].
        """
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))
        begin = 0
        while begin < len(genomes):
            size = self._chunk_size(len(windows))
            part = slice(begin, begin + size)
            found = self._tried(genomes[part], slots[part], warm_up[part], windows)
            if found is not None:
                out[part] = found
                begin += size
        return out

    @device_errors
    def signals(self, genome: Floats, slots: Slots, warm_up: int, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window."""
        found = self._single(genome, slots, warm_up, window)
        n = int(found.counts[0])
        bars = found.bars[:n, 0].cpu().numpy()
        holds = found.exit_bars[:n, 0].cpu().numpy() != -1
        signal_bars: Slots = (bars[holds] - self._starts[window.series]).astype(np.int32)
        return signal_bars

    @device_errors
    def trades(self, genome: Floats, slots: Slots, warm_up: int, window: Window) -> Ledger:
        """The ledger of one individual in one window; arguments as in `evaluate`."""
        found = self._single(genome, slots, warm_up, window)
        chained = self._chain(found)
        out = chained.out.cpu().numpy()[0]
        place = chained.taken[: int(out[0]), 0].long()
        start = self._starts[window.series]
        bars = found.bars[place, 0].cpu().numpy().astype(np.int64) - start
        prices = found.prices[place, 0].cpu().numpy()
        return Ledger(
            signal_bar=bars,
            entry_bar=bars + 1,
            exit_bar=found.exit_bars[place, 0].cpu().numpy().astype(np.int64) - start,
            reason=found.reasons[place, 0].cpu().numpy(),
            entry=prices[:, 0].copy(),
            stop=prices[:, 1].copy(),
            target=prices[:, 2].copy(),
            exit=prices[:, 3].copy(),
            r=found.r[place, 0].cpu().numpy(),
            rejected=int(out[ACCUMULATORS.index("rejected")]),
        )

    def rows(self, slot: int, series: int) -> Floats:
        """A copy of one row [T], as it stands in its slot."""
        start, end = int(self._starts[series]), int(self._series_ends[series])
        row: Floats = self._rows[slot, start:end].cpu().numpy().copy()
        return row

    def _to_device(self, array: npt.NDArray[np.generic]) -> torch.Tensor:
        return torch.from_numpy(np.array(array, order="C")).to(self._device)

    def _joined(self, columns: list[Floats], filler: float) -> torch.Tensor:
        """One series after the other on the common axis, [B], readable a little beyond it."""
        joined = np.full(self._n_bars + ALIGNED_BARS, filler)
        for start, column in zip(self._starts.tolist(), columns, strict=True):
            joined[start : start + len(column)] = column
        return self._to_device(joined)[: self._n_bars]

    def _fill_ema(self, values: torch.Tensor, spans: torch.Tensor, slots: torch.Tensor) -> None:
        lanes = 32
        grid = (-(-len(spans) // lanes), len(self._starts))
        launch(ema_kernel, grid, values, spans, slots, self._series_starts, self._series_ends,
               self._rows, len(spans), self._n_bars, warps=1, LANES=lanes)  # fmt: skip

    def _fill_rolling(self, form: Form, values: torch.Tensor, windows: Ints, slots: Ints) -> None:
        lanes = 32
        together = max(1, min(len(windows), SCRATCH_BYTES // (16 * self._n_bars), 65_535))
        left1 = torch.empty((together, self._n_bars), dtype=torch.float64, device=self._device)
        left2 = torch.empty_like(left1)
        # Windows of about one length have about as many blocks, so that few lanes idle.
        order = np.argsort(windows, kind="stable")
        for begin in range(0, len(windows), together):
            part = order[begin : begin + together]
            blocks = -(-self._longest // int(windows[part].min()))
            grid = (-(-blocks // lanes), len(part), len(self._starts))
            launch(rolling_kernel, grid, values, self._to_device(windows[part].astype(np.int32)),
                   self._to_device(slots[part].astype(np.int32)), self._series_starts,
                   self._series_ends, self._rows, left1, left2, self._n_bars, warps=1,
                   IS_ZSCORE=form.indicator == "zscore", LANES=lanes)  # fmt: skip

    def _tried(
        self, genomes: Floats, slots: Slots, warm_up: Ints, windows: Sequence[Window]
    ) -> Floats | None:
        """Accumulators of a chunk; None where lists were too short or memory too small.

        Both have been changed then, so that the next try may succeed.
        """
        try:
            chunk = self._chunk(genomes, slots, warm_up, windows)
            signals = self._signals(chunk, keeps_prices=False)
            found: Floats = self._chain(signals).out.cpu().numpy()
            if self._is_short(signals):
                return None
            return found.reshape(-1, len(windows), len(ACCUMULATORS))
        except torch.OutOfMemoryError:
            if len(genomes) == 1:
                raise
        # Only here, where nothing of the failed try is held any more, can memory be given back.
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        self._most = len(genomes) // 2
        LOG.warning("device memory ran out: %d individuals at a time from here on", self._most)
        return None

    def _chunk_size(self, n_windows: int) -> int:
        """Individuals whose lists fit the room for them."""
        pair_bytes = self._capacity * (4 + 4 + 1 + 8 + 4 + 24) + self._n_bars // 8 // n_windows
        return int(max(1, min(LIST_BYTES // (pair_bytes * n_windows), self._most)))

    def _chunk(
        self, genomes: Floats, slots: Slots, warm_up: Ints, windows: Sequence[Window]
    ) -> Chunk:
        starts = np.array([self._starts[w.series] for w in windows], np.int64)
        ranges = np.array([(w.start, w.end) for w in windows], np.int64)
        first = starts + np.maximum(ranges[:, 0], warm_up[:, None])
        ends = np.broadcast_to(starts + ranges[:, 1], first.shape)
        entry = self._entry
        genes = np.empty((len(genomes), len(entry.genes), 2), np.int32)
        for c, (row, gene, _) in enumerate(entry.genes.tolist()):
            low, scale = entry.scales[c]
            position = np.clip((genomes[:, gene] - low) * scale, 0.0, HIGHEST_CODE - 1.0)
            genes[:, c, 0] = slots[:, row]
            genes[:, c, 1] = 1 + position.astype(np.int32)
        return Chunk(
            genomes=self._to_device(genomes),
            slots=self._to_device(slots),
            genes=self._to_device(genes),
            pairs=self._to_device(_ordered_slots(slots, entry.pairs)),
            exact=self._to_device(_ordered_slots(slots, entry.exact)),
            first=self._to_device(first),
            last=self._to_device(np.maximum(ends - 1, first)),
            ends=self._to_device(ends),
        )

    def _signals(self, chunk: Chunk, *, keeps_prices: bool) -> Signals:
        entry, exits, capacity = self._entry, self._exits, self._capacity
        n_p, n_w = chunk.first.shape
        n_masks = self._n_bars // ALIGNED_BARS
        masks = self._empty((n_p, n_masks), torch.int32)
        rows, columns = 4, 64
        n_genes, n_pairs, n_exact = len(entry.genes), len(entry.pairs), len(entry.exact)
        greater = _bits(entry.genes[:, 2])
        launch(mask_kernel, (-(-n_masks // columns), -(-n_p // rows)),
               self._codes.view(torch.int32), chunk.genes, chunk.pairs, masks, n_p, n_masks,
               self._n_bars // 4, GREATER=greater, N_GENES=n_genes, N_PAIRS=n_pairs, ROWS=rows,
               COLUMNS=columns)  # fmt: skip
        pairs = n_p * n_w
        counts = self._empty((pairs,), torch.int32)
        bars = self._empty((capacity, pairs), torch.int32)
        launch(list_kernel, (pairs,), masks, chunk.first, chunk.last, counts, bars, pairs, n_w,
               n_masks, capacity, BLOCK=512)  # fmt: skip
        exit_bars = self._empty((capacity, pairs), torch.int32)
        reasons = self._empty((capacity, pairs), torch.int8)
        r = self._empty((capacity, pairs), torch.float64)
        prices = self._empty((capacity, pairs, 4) if keeps_prices else (1,), torch.float64)
        # Enough programs to fill the device, few enough that each has signals to look at.
        blocks = int(np.clip(PROGRAMS // pairs, 1, 32))
        launch(exit_kernel, (pairs * blocks,), self._sources["open"], self._highs, self._lows,
               self._sources["close"], self._rows, self._codes,
               chunk.genomes, chunk.slots, chunk.genes, chunk.pairs, chunk.exact, chunk.ends,
               counts, bars, exit_bars, reasons, r, prices, pairs, n_w, capacity, self._n_bars,
               self._costs, warps=1,
               GENE_COLUMNS=tuple(entry.genes[:, 1].tolist()), GREATER=greater, N_GENES=n_genes,
               N_PAIRS=n_pairs, N_EXACT=n_exact, N_COLUMNS=chunk.genomes.shape[1],
               N_ROWS=chunk.slots.shape[1], STOP_ROW=exits.stop_row, STOP_MULT=exits.stop_mult,
               REWARD=exits.reward, MAX_HOLD=exits.max_hold, KEEPS_PRICES=keeps_prices,
               SIGNALS=SIGNALS, BLOCKS=blocks, BLOCK_BARS=BLOCK_BARS)  # fmt: skip
        return Signals(counts, bars, exit_bars, reasons, r, prices, capacity)

    def _chain(self, signals: Signals) -> Trades:
        pairs, shape = len(signals.counts), tuple(signals.bars.shape)
        trades, rejected = (self._empty((pairs,), torch.int32) for _ in range(2))
        taken = self._empty(shape, torch.int32)
        dense_r, falls, peaks = (self._empty(shape, torch.float64) for _ in range(3))
        out = self._empty((pairs, len(ACCUMULATORS)), torch.float64)
        grid = -(-pairs // LANES)
        launch(take_kernel, (grid,), signals.counts, signals.bars, signals.exit_bars, taken, trades,
               rejected, pairs, signals.capacity, warps=1, LANES=LANES)  # fmt: skip
        blocks = int(np.clip(PROGRAMS // grid, 1, 32))
        launch(gather_kernel, (grid, blocks), trades, taken, signals.r, dense_r, pairs, warps=4,
               LANES=LANES, TRADES=16, BLOCKS=blocks)  # fmt: skip
        launch(fold_kernel, (grid,), trades, dense_r, falls, peaks, out, self._costs, pairs,
               warps=1, N_OUT=len(ACCUMULATORS), LANES=LANES)  # fmt: skip
        narrow = 8
        launch(count_kernel, (-(-pairs // narrow),), trades, rejected, taken, signals.bars,
               signals.exit_bars, signals.reasons, dense_r, falls, peaks, out, pairs, warps=4,
               N_OUT=len(ACCUMULATORS), LANES=narrow, TRADES=64)  # fmt: skip
        return Trades(out, taken)

    def _single(self, genome: Floats, slots: Slots, warm_up: int, window: Window) -> Signals:
        chunk = self._chunk(genome[None], slots[None], np.array([warm_up]), [window])
        signals = self._signals(chunk, keeps_prices=True)
        while self._is_short(signals):
            signals = self._signals(chunk, keeps_prices=True)
        return signals

    def _is_short(self, signals: Signals) -> bool:
        """Whether a list was too short; the capacity is then raised for the next try."""
        most = int(signals.counts.max())
        if most <= signals.capacity:
            return False
        self._capacity = 1 << (most - 1).bit_length()
        return True

    def _empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, device=self._device)


def _ordered_slots(slots: Slots, comparisons: Ints) -> Slots:
    """Slots [P, D, 2] of the row that must be smaller and of the one that must be larger."""
    ordered = np.empty((len(slots), len(comparisons), 2), np.int32)
    for d, (left, right, is_greater) in enumerate(comparisons.tolist()):
        small, large = (right, left) if is_greater else (left, right)
        ordered[:, d, 0], ordered[:, d, 1] = slots[:, small], slots[:, large]
    return ordered


def _bits(flags: Ints) -> int:
    """Flags as the bits of one number, the first the lowest."""
    return sum(int(flag) << place for place, flag in enumerate(flags.tolist()))
