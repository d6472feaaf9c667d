"""Rows of adaptive trends on the device, many for one series or one for many series.

Sides of averages stay there until too many others come; everything else is made anew for
each batch of rows, as many at a time as memory holds.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import triton

from engine.backend import Floats, Ints
from engine.indicators.cuda.trend_layers import (
    equities_kernel,
    row_kernel,
    steps_kernel,
    votes_kernel,
    words_kernel,
)
from engine.indicators.cuda.trend_sides import (
    FACTOR,
    FACTOR_FROM_ZERO,
    MEAN,
    WEIGHTED,
    WEIGHTED_AND_LINE,
    averages_kernel,
    chain_kernel,
    sides_kernel,
    window_kernel,
)
from engine.indicators.trend_spec import (
    BAND,
    DEMA,
    EMA,
    FAMILIES,
    FLOOR,
    FORMS,
    HMA,
    IN_SCRIPT,
    KAMA,
    KAMA_FROM_ZERO,
    LENGTHS,
    LSMA,
    OFFSETS,
    QUICKEST,
    SLOWEST,
    SMA,
    TAYLOR,
    WMA,
)
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.watchdog import to_device, to_host

SEGMENT, UNROLL = 64, 32
"""Bars walked beside other segments, and bars with loads that a chain waits for at once."""

EQUITIES = FAMILIES * LENGTHS

BYTES_OF_A_BAR = FAMILIES * 5 + 4 * 8 + 8 * (EQUITIES + 2 * FAMILIES) // SEGMENT
"""Bytes of a row in the making: words, votes, steps, the row twice, and results of chains."""

TILE, LANES, SCANNED = 64, 32, 1024
"""Bars of a program, lanes of a program, and bars that are scanned at once, at most."""

BYTES_OF_AN_AVERAGE = 8 * 8
"""Bytes of each bar, while its sides are taken."""

BYTES_OF_A_SERIES = 8 * 5 * LENGTHS + EQUITIES + BYTES_OF_A_BAR
"""Bytes of each bar of a series: five columns for a family's averages, all codes, and a row."""

FREE_SHARE, MANY_BYTES = 0.5, 2**30
"""Share that many series may take of a GPU's free memory, and of a host that interprets."""

CHAINS = (KAMA, KAMA_FROM_ZERO, EMA, DEMA)
"""Forms that move with each price, in the order of their lanes."""


class Trends:
    """Rows of series of one length; its device has to be the current one.

    Args:
        closes: [S, T], T at least 1; what lies behind a series' own last bar is any price.
        work_bytes: Memory for sides, as much for averages, and for what rows are made of.
        device: Where they lie.
    """

    def __init__(self, closes: Floats, work_bytes: int, device: torch.device) -> None:
        self._series, self._bars = closes.shape
        self._work_bytes, self._device = work_bytes, device
        self._segments = triton.cdiv(self._bars, SEGMENT)
        behind = self._segments * SEGMENT - self._bars
        self._close = to_device(np.pad(closes, ((0, 0), (0, behind)), "edge"), device)
        self._floor = to_device(np.array([FLOOR]), device)
        self._band = to_device(np.array([BAND]), device)
        self._factors = to_device(np.array([QUICKEST, SLOWEST]), device)
        self._taylor = to_device(TAYLOR, device)
        self._places = np.full((FORMS, 1), -1, np.int32)
        self._forget()

    def rows(self, parameters: Ints, *, is_script: bool) -> torch.Tensor:
        """Rows [U, S, T] of tuples [U, 18] of whole numbers, for each series."""
        most = max(self._work_bytes // (BYTES_OF_A_BAR * self._close.numel()), 1)
        parts = [
            self._compute_rows(parameters[begin : begin + most], is_script)
            for begin in range(0, len(parameters), most)
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
        code_rows = self._sides(parameters, is_script)
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
        launch(votes_kernel, (triton.cdiv(families, LANES), segments), words, *walked, kept, votes,
               families, rows, PER_ROW=FAMILIES, SEGMENT=SEGMENT, LANES=LANES,
               warps=1)  # fmt: skip
        kept, repeated = self._equities(votes, walked, starts, 1, is_script)
        out = torch.empty((bars, rows), dtype=torch.float64, device=device)
        launch(row_kernel, (shares, segments), votes, *walked, kept, repeated, out, rows,
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

    def _sides(self, parameters: Ints, is_script: bool) -> torch.Tensor:
        """Places [U * S * 6, 9] of all averages among the codes, which are made here."""
        forms = np.arange(FAMILIES)
        if is_script:
            forms = np.array([IN_SCRIPT.get(form, form) for form in forms.tolist()])
        offsets = np.concatenate((np.zeros((3, 1), np.int64), OFFSETS, -OFFSETS), axis=1)
        lengths = parameters[:, :FAMILIES, None] + offsets[parameters[:, 6]][:, None]
        is_asked = np.zeros((FORMS, int(lengths.max()) + 1), bool)
        is_asked[forms[:, None], lengths] = True
        if not self._has_room(is_asked):
            self._forget()
        self._bring(is_asked)
        code_rows = self._places[forms[:, None], lengths][:, None] * self._series
        every = code_rows + np.arange(self._series, dtype=np.int32)[:, None, None]
        return to_device(every.reshape(-1, LENGTHS), self._device)

    def _has_room(self, asked: npt.NDArray[np.bool_]) -> bool:
        """True if averages [form, length] fit beside present ones."""
        self._widen(asked.shape[1])
        missing = asked & (self._places[:, : asked.shape[1]] < 0)
        needed = len(self._codes) + int(np.count_nonzero(missing)) * self._series
        return bool(needed * self._close.shape[1] <= self._work_bytes)

    def _widen(self, lengths: int) -> None:
        more = max(lengths - self._places.shape[1], 0)
        self._places = np.pad(self._places, ((0, 0), (0, more)), constant_values=-1)

    def _bring(self, asked: npt.NDArray[np.bool_]) -> None:
        """Take the sides of averages [form, length] that are not there."""
        lengths, forms = np.nonzero((asked & (self._places[:, : asked.shape[1]] < 0)).T)
        most = max(self._work_bytes // (BYTES_OF_AN_AVERAGE * self._close.numel()), 1)
        for begin in range(0, len(forms), most):
            some = slice(begin, begin + most)
            codes, first = self._compute_codes(forms[some], lengths[some]), len(self._codes)
            order = np.argsort(forms[some], kind="stable")
            self._places[forms[some][order], lengths[some][order]] = (
                first // self._series + np.arange(len(order))
            )
            self._codes = torch.cat((self._codes, codes)) if first else codes

    def _compute_codes(self, forms: Ints, lengths: Ints) -> torch.Tensor:
        """Codes [A * S, T] of averages, form by form and within a form as they come."""
        new = [lengths[forms == form] for form in range(FORMS)]
        halves, roots = new[HMA] // 2, np.sqrt(new[HMA]).astype(np.int64)
        windows = np.unique(np.concatenate((new[WMA], new[LSMA], new[HMA], halves)))
        ema, dema, chains = new[EMA], new[DEMA], [new[form] for form in CHAINS]
        ends = np.cumsum([0, *map(len, chains)])
        where = {form: np.arange(*ends[k : k + 2]) for k, form in enumerate(CHAINS)}
        where |= {form: np.searchsorted(windows, new[form]) for form in (WMA, LSMA)}
        where |= {form: np.arange(len(new[form])) for form in (HMA, SMA)}
        zero = np.zeros_like(lengths)
        known = {
            EMA: ema - 1, DEMA: dema - 1, WMA: new[WMA] - 1, LSMA: new[LSMA] - 1,
            SMA: new[SMA] - 1, HMA: new[HMA] - 2 + roots,
            KAMA: zero[: len(new[KAMA])], KAMA_FROM_ZERO: zero[: len(new[KAMA_FROM_ZERO])],
        }  # fmt: skip
        every = np.concatenate(chains)
        alphas = to_device(2.0 / (every + 1), self._device)
        (shared, half, whole, root, mean, kaufman, from_zero, chain, *rest) = self._there(
            windows, np.searchsorted(windows, halves), np.searchsorted(windows, new[HMA]), roots,
            new[SMA], new[KAMA], new[KAMA_FROM_ZERO], every,
            *(where[form] for form in range(FORMS)), *(known[form] for form in range(FORMS)),
        )  # fmt: skip
        weighted, line = self._windows(WEIGHTED_AND_LINE, shared)
        hull = self._hull(weighted, half, whole, root)
        moving = self._chains(kaufman, from_zero, chain, alphas, len(ema))
        values = dict.fromkeys(CHAINS, moving)
        values |= {WMA: weighted, LSMA: line, HMA: hull, SMA: self._windows(MEAN, mean)[0]}
        codes = torch.empty(
            (len(forms) * self._series, self._close.shape[1]),
            dtype=torch.uint8,
            device=self._device,
        )
        first = 0
        for form in range(FORMS):
            rows, begins = rest[form].there, rest[FORMS + form].there
            last = first + len(rows) * self._series
            self._side(values[form], rows, begins, codes[first:last])
            first = last
        return codes

    def _there(self, *parts: Ints) -> "list[_Numbers]":
        """Whole numbers on both sides; uploads wait for launches before them."""
        together = to_device(np.concatenate(parts).astype(np.int32), self._device)
        pieces = torch.split(together, [len(part) for part in parts])
        return [_Numbers(part, piece) for part, piece in zip(parts, pieces, strict=True)]

    def _side(
        self, averages: torch.Tensor, rows: torch.Tensor, known: torch.Tensor, out: torch.Tensor
    ) -> None:
        """Sides [A * S, T] of some rows of averages [.., T], by their strides."""
        if not len(rows):
            return
        bars = self._close.shape[1]
        tile = min(SCANNED, triton.next_power_of_2(bars))
        launch(sides_kernel, (len(out),), self._close, averages, *averages.stride(), rows, known,
               self._band, out, self._series, bars, TILE=tile)  # fmt: skip

    def _hull(
        self, weighted: torch.Tensor, half: "_Numbers", whole: "_Numbers", root: "_Numbers"
    ) -> torch.Tensor:
        """Hull's averages [A * S, T], of weighted means at places."""
        by_length = weighted.reshape(-1, self._series, self._close.shape[1])
        raw = by_length[half.there].mul_(2.0).sub_(by_length[whole.there])
        return self._windows(WEIGHTED, root, raw.reshape(-1, self._close.shape[1]))[0]

    def _chains(
        self,
        kaufman: "_Numbers",
        from_zero: "_Numbers",
        lengths: "_Numbers",
        alphas: torch.Tensor,
        plain: int,
    ) -> torch.Tensor:
        """Averages [A * S, T] that move with each price, in the order of `CHAINS`."""
        series, bars, device = self._series, self._close.shape[1], self._device
        if not len(lengths.host):
            return self._close
        steps = torch.zeros_like(self._close)
        torch.abs(self._close[:, 1:] - self._close[:, :-1], out=steps[:, 1:])
        factors = [
            self._windows(kind, some, steps)[0]
            for kind, some in ((FACTOR, kaufman), (FACTOR_FROM_ZERO, from_zero))
            if len(some.host)
        ]
        factor = torch.cat(factors, dim=1) if factors else self._close
        late = len(from_zero.host) * series
        slow = len(kaufman.host) * series + late
        lanes, longest = len(lengths.host) * series, int(lengths.host.max())
        shares = triton.cdiv(lanes, LANES)
        kept, kept2 = torch.empty((2, self._segments, lanes), dtype=torch.float64, device=device)
        launch(chain_kernel, (shares,), self._close, lengths.there, alphas, factor, kept, kept2,
               lanes, slow, late, series, bars, longest, self._segments, SEGMENT=SEGMENT,
               UNROLL=UNROLL, LANES=LANES, warps=1)  # fmt: skip
        out = torch.empty((bars, lanes), dtype=torch.float64, device=device)
        launch(averages_kernel, (shares, self._segments), self._close, lengths.there, alphas,
               factor, kept, kept2, out, lanes, slow, slow + plain * series, series, bars,
               SEGMENT=SEGMENT, LANES=LANES, warps=1)  # fmt: skip
        return out.t()

    def _windows(
        self, kind: object, lengths: "_Numbers", values: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Windows [A * S, T] of the series, or of each average's own values; factors [T, A * S].

        And lines, on request.
        """
        values = self._close if values is None else values
        lanes, bars = len(lengths.host) * self._series, self._close.shape[1]
        left, left2, out = torch.empty((3, lanes, bars), dtype=torch.float64, device=self._device)
        line = torch.empty_like(out) if kind is WEIGHTED_AND_LINE else out
        if kind in (FACTOR, FACTOR_FROM_ZERO):
            out = out.view(bars, lanes)
        if lanes:
            blocks = triton.cdiv(bars, int(lengths.host.min()))
            launch(window_kernel, (lanes, triton.cdiv(blocks, LANES)), values, len(values),
                   self._close, lengths.there, self._factors, left, left2, out, line, self._series,
                   bars, FORM=kind, LANES=LANES, warps=1)  # fmt: skip
        return out, line


class _Numbers(NamedTuple):
    """Whole numbers on the host and on the device."""

    host: Ints
    there: torch.Tensor


def compute_trend_rows(
    closes: Sequence[Floats], parameters: Sequence[int], *, is_script: bool, device: str
) -> list[Floats]:
    """The row of each series [T], as `engine.trends.rows` gives it."""
    there = torch.device(device)
    # Kernels run on the current device; a host's memory has none to make current.
    with torch.cuda.device(there if there.type == "cuda" else -1):
        return _compute_trend_rows(closes, parameters, is_script, there)


def _compute_trend_rows(
    closes: Sequence[Floats], parameters: Sequence[int], is_script: bool, device: torch.device
) -> list[Floats]:
    """Rows by `compute_trend_rows`, on the current device."""
    order = sorted(range(len(closes)), key=lambda number: len(closes[number]))
    free = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else MANY_BYTES
    by_number: dict[int, Floats] = {}
    while order:
        bars = max(len(closes[order[-1]]), 1)
        most = max(int(FREE_SHARE * free) // (BYTES_OF_A_SERIES * bars), 1)
        some = order[-most:]
        del order[-most:]
        together = np.ones((len(some), bars))
        for row, number in zip(together, some, strict=True):
            row[: len(closes[number])] = closes[number]
        made = Trends(together, free, device)
        rows = to_host(made.rows(np.array([parameters]), is_script=is_script)[0])
        by_number |= {number: rows[k, : len(closes[number])] for k, number in enumerate(some)}
    return [by_number[number] for number in range(len(closes))]
