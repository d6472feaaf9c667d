"""Rows of adaptive trends on the device, many for one series or one for many series.

Sides of averages are taken on the host, and stay on the device until too many others come;
everything else is made anew for each batch of rows, as many at a time as memory holds.
"""

from collections.abc import Sequence

import numpy as np
import torch
import triton

from engine.backend import Floats, Ints, iter_parts
from engine.indicators.cpu.trends import TrendForm
from engine.indicators.cuda.trend_layers import (
    equities_kernel,
    row_kernel,
    steps_kernel,
    votes_kernel,
    words_kernel,
)
from engine.indicators.trend_spec import FAMILIES, FLOOR, LENGTHS, TAYLOR, list_lengths
from engine.runtime.compiling.launch import launch
from engine.runtime.cpu.threads import Threads
from engine.runtime.cuda.watchdog import move_tensor, on_device, to_device, to_host
from engine.runtime.lru_cache import ArrayCache

SEGMENT, UNROLL = 64, 32
"""Bars walked beside other segments, and bars with loads that a chain waits for at once."""

EQUITIES = FAMILIES * LENGTHS

BYTES_OF_A_BAR = FAMILIES * 5 + 4 * 8 + 8 * (EQUITIES + 2 * FAMILIES) // SEGMENT
"""Bytes of a row in the making: words, votes, steps, the row twice, and results of chains."""

TILE, LANES = 64, 32
"""Bars and lanes of a program."""

BYTES_OF_A_SERIES = 8 + EQUITIES + BYTES_OF_A_BAR
"""Bytes of each bar of a series: its price, all codes, and a row."""

CODES = np.array([1, 0, 2], np.uint8)
"""Two bits of a side: short, none, long."""

SENT_BYTES = 2**26
"""Sides that are sent together."""

FREE_SHARE, MANY_BYTES = 0.5, 2**30
"""Share that many series may take of a GPU's free memory, and of a host that interprets."""


class Trends:
    """Rows of series of one length; its device has to be the current one.

    Args:
        closes: [S] of [T], T at least 1.
        form: Takes sides of averages, and keeps them.
        work_bytes: Memory for sides, and for what rows are made of.
        device: Where they lie.
        workers: Threads that take sides.
    """

    def __init__(
        self,
        closes: Sequence[Floats],
        form: TrendForm,
        work_bytes: int,
        device: torch.device,
        workers: Threads,
    ) -> None:
        self._closes, self._form, self._workers = closes, form, workers
        self._series, self._bars = len(closes), len(closes[0])
        self._work_bytes, self._device = work_bytes, device
        self._segments = triton.cdiv(self._bars, SEGMENT)
        behind = self._segments * SEGMENT - self._bars
        self._close = to_device(np.pad(closes, ((0, 0), (0, behind)), "edge"), device)
        self._floor = to_device(np.array([FLOOR]), device)
        self._taylor = to_device(TAYLOR, device)
        # Of families of the law, then of the script's; -1 for an average that is not there.
        self._places = np.full((2 * FAMILIES, 1), -1, np.int32)
        self._forget()

    def rows(self, parameters: Ints, *, is_script: bool) -> torch.Tensor:
        """Rows [U, S, T] of tuples [U, 18] of whole numbers, for each series."""
        most = max(self._work_bytes // (BYTES_OF_A_BAR * self._close.numel()), 1)
        parts = [
            self._compute_rows(parameters[part], is_script)
            for part in iter_parts(len(parameters), most)
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def _compute_rows(self, parameters: Ints, is_script: bool) -> torch.Tensor:
        series, segments, device = self._series, self._segments, self._device
        bars, rows = self._close.shape[1], len(parameters) * series
        of_series = np.repeat(parameters, series, axis=0)
        # Uploads wait for launches before them.
        flat = to_device(1.0 - of_series[:, 8] / 10000.0, device)
        settings = to_device(of_series[:, [9, 10, 11, 7]].T.astype(np.int32), device)
        starts = to_device(np.maximum(of_series[:, 12:] / 10.0, FLOOR).reshape(-1), device)
        code_rows = self._find_sides(parameters, is_script)
        families, tiles = rows * FAMILIES, bars // TILE
        words = torch.empty((bars, families), dtype=torch.int32, device=device)
        launch(words_kernel, (tiles, triton.cdiv(families, LANES)), self._codes, code_rows,
               settings, words, families, bars, PER_ROW=FAMILIES, LENGTHS=LENGTHS, TILE=TILE,
               LANES=LANES)  # fmt: skip
        steps = torch.empty((bars, rows, 2), dtype=torch.float64, device=device)
        shares = triton.cdiv(rows, LANES)
        launch(steps_kernel, (tiles, shares), self._close, settings[3], flat, settings,
               self._taylor, steps, rows, series, bars,
               TERMS=len(TAYLOR), TILE=TILE, LANES=LANES)  # fmt: skip
        walked = steps, flat, settings, self._floor
        ones = torch.ones(rows * EQUITIES, dtype=torch.float64, device=device)
        kept, _ = self._equities(words, walked, ones, LENGTHS, False)
        votes = torch.empty((bars, families), dtype=torch.int8, device=device)
        launch(votes_kernel, (segments, triton.cdiv(families, LANES)), words, *walked, kept, votes,
               families, rows, PER_ROW=FAMILIES, SEGMENT=SEGMENT, LANES=LANES,
               warps=1)  # fmt: skip
        kept, repeated = self._equities(votes, walked, starts, 1, is_script)
        out = torch.empty((bars, rows), dtype=torch.float64, device=device)
        launch(row_kernel, (segments, shares), votes, *walked, kept, repeated, out, rows,
               REPEATS=is_script, SEGMENT=SEGMENT, LANES=LANES, warps=1)  # fmt: skip
        return out[: self._bars].t().reshape(-1, series, self._bars)

    def _equities(
        self,
        votes: torch.Tensor,
        walked: tuple[torch.Tensor, ...],
        starts: torch.Tensor,
        sides: int,
        is_script: bool,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Equities [segments, lanes], and where a step is repeated that step."""
        lanes, rows = len(starts), walked[0].shape[1]
        kept = torch.empty((self._segments, lanes), dtype=torch.float64, device=self._device)
        repeated = torch.empty_like(kept) if is_script else kept
        launch(equities_kernel, (triton.cdiv(lanes, LANES),), votes, *walked, starts, kept,
               repeated, lanes, rows, self._segments, SIDES=sides, PER_ROW=lanes // rows,
               REPEATS=is_script, SEGMENT=SEGMENT, UNROLL=UNROLL, LANES=LANES,
               warps=1)  # fmt: skip
        return kept, repeated

    def _forget(self) -> None:
        """Let go of all sides."""
        self._codes = torch.empty((0, self._close.shape[1]), dtype=torch.uint8, device=self._device)
        self._places[:] = -1

    def _find_sides(self, parameters: Ints, is_script: bool) -> torch.Tensor:
        """Places [U * S * 6, 9] of all averages among the codes, which are brought here."""
        forms = np.arange(FAMILIES)[:, None] + FAMILIES * is_script
        lengths = list_lengths(parameters[:, :FAMILIES], parameters[:, 6:7])
        more = max(int(lengths.max()) + 1 - self._places.shape[1], 0)
        self._places = np.pad(self._places, ((0, 0), (0, more)), constant_values=-1)
        is_asked = np.zeros(self._places.shape, bool)
        is_asked[forms, lengths] = True
        missing = is_asked & (self._places < 0)
        needed = len(self._codes) + int(np.count_nonzero(missing)) * self._series
        if needed * self._close.shape[1] > self._work_bytes:
            self._forget()
            missing = is_asked
        self._bring(np.argwhere(missing))
        code_rows = self._places[forms, lengths][:, None] * self._series
        every = code_rows + np.arange(self._series, dtype=np.int32)[:, None, None]
        return to_device(every.reshape(-1, LENGTHS), self._device)

    def _bring(self, missing: Ints) -> None:
        """Take the sides of averages [n, 2], each a form and a length, and send them."""
        bars, codes = self._close.shape[1], [self._codes]
        for part in iter_parts(len(missing), max(SENT_BYTES // self._close.numel(), 1)):
            some = torch.zeros((len(part) * self._series, bars), dtype=torch.uint8)
            self._take_sides(missing[part].tolist(), some)
            codes.append(move_tensor(some, self._device))
        first = len(self._codes) // self._series
        self._codes = torch.cat(codes)
        self._places[missing[:, 0], missing[:, 1]] = first + np.arange(len(missing))

    def _take_sides(self, averages: list[list[int]], out: torch.Tensor) -> None:
        """Sides of averages, by form and length, of each series, into out [n S, bars]."""
        values = out.numpy()

        def work(thread: int) -> None:
            for index in range(thread, len(values), self._workers.count):
                number, series = divmod(index, self._series)
                form, length = averages[number]
                is_script, family = divmod(form, FAMILIES)
                sides = self._form.sides(self._closes[series], family, length, bool(is_script))
                values[index, : self._bars] = CODES[sides]

        self._workers.run(work, len(values))


def compute_trend_rows(
    closes: Sequence[Floats],
    parameters: Sequence[int],
    workers: Threads,
    *,
    is_script: bool,
    device: str,
) -> list[Floats]:
    """The row of each series [T], as `engine.trends.rows` gives it."""
    there, form = torch.device(device), TrendForm(ArrayCache(0))
    order = sorted(range(len(closes)), key=lambda number: len(closes[number]))
    by_number: dict[int, Floats] = {}
    with on_device(there):
        free = torch.cuda.mem_get_info(there)[0] if there.type == "cuda" else MANY_BYTES
        while order:
            bars = max(len(closes[order[-1]]), 1)
            most = max(int(FREE_SHARE * free) // (BYTES_OF_A_SERIES * bars), 1)
            some = order[-most:]
            del order[-most:]
            # What lies behind a series' own last bar is any price.
            together = [
                np.pad(closes[number], (0, bars - len(closes[number])), constant_values=1.0)
                for number in some
            ]
            made = Trends(together, form, free, there, workers)
            rows = to_host(made.rows(np.array([parameters]), is_script=is_script)[0])
            by_number |= {number: rows[k, : len(closes[number])] for k, number in enumerate(some)}
    return [by_number[number] for number in range(len(closes))]
