"""Rows of adaptive trends on the device, which share the sides of their averages.

Sides lie there until too many others are asked for; everything else is made anew for each batch of
rows, as many at a time as memory holds.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import triton

from engine.compiling.launch import launch
from engine.contract import Floats, Ints
from engine.cuda.trend import (
    LINE,
    MEAN,
    PATH,
    WEIGHTED,
    chain_kernel,
    kaufman_kernel,
    row_kernel,
    sides_kernel,
    steps_kernel,
    votes_kernel,
    window_kernel,
    words_kernel,
)
from engine.cuda.waiting import to_device
from engine.rows.trend import (
    BAND,
    DEMA,
    FAMILIES,
    FLOOR,
    HMA,
    IN_SCRIPT,
    KAMA,
    KAMA_FROM_ZERO,
    LENGTHS,
    LSMA,
    QUICKEST,
    SLOWEST,
    SMA,
    TAYLOR,
    WMA,
    lengths_of,
)

BYTES_OF_A_BAR = FAMILIES * 5 + 4 * 8
"""Of a row while it is made: words, votes, steps, and the row twice."""

TILE, LANES, SCANNED = 64, 32, 1024
"""Bars of a program, lanes of a program, and bars that are scanned at once, at most."""

Average = tuple[int, int]
"""Family and length."""


class Trends:
    """Rows of one series.

    Args:
        close: [T].
        work_bytes: Memory for sides, and as much for what rows are made of.
        device: Where they lie.
    """

    def __init__(self, close: Floats, work_bytes: int, device: torch.device) -> None:
        self._n_bars, self._device, self._work_bytes = len(close), device, work_bytes
        self._close = to_device(close, device)
        # The means with which chains begin are those of the series' first block.
        self._sums = np.add.accumulate(close - close[0]) if len(close) else close
        self._first = float(close[0]) if len(close) else 0.0
        self._band = to_device(np.array([BAND]), device)
        self._factors = to_device(np.array([QUICKEST, SLOWEST]), device)
        self._places: dict[Average, int] = {}
        self._codes = torch.empty((0, self._n_bars), dtype=torch.uint8, device=device)

    def rows(self, parameters: Sequence[Sequence[int]], *, is_script: bool) -> torch.Tensor:
        """Rows [U, T] of tuples of eighteen whole numbers each."""
        out = torch.empty((len(parameters), self._n_bars), dtype=torch.float64, device=self._device)
        most = max(self._work_bytes // (BYTES_OF_A_BAR * max(self._n_bars, 1)), 1)
        for begin in range(0, len(parameters), most):
            some = np.array(parameters[begin : begin + most], np.int64)
            out[begin : begin + most] = self._made(some, is_script)
        return out

    def _made(self, parameters: Ints, is_script: bool) -> torch.Tensor:
        count, bars, device = len(parameters), self._n_bars, self._device
        places = self._sides(parameters, is_script)
        families = count * FAMILIES
        words = torch.empty((bars, families), dtype=torch.int32, device=device)
        tiles = triton.cdiv(bars, TILE)
        launch(words_kernel, (tiles, triton.cdiv(families, LANES)), self._codes, places, words,
               families, bars, LENGTHS=LENGTHS, TILE=TILE, LANES=LANES)  # fmt: skip
        growth, decay = parameters[:, 7:9].T
        flat = to_device(1.0 - decay / 10000.0, device)
        settings = to_device(parameters[:, 9:12].T.astype(np.int32), device)
        up, down = torch.empty((2, bars, count), dtype=torch.float64, device=device)
        grown = to_device(growth.astype(np.int32), device)
        launch(steps_kernel, (tiles, count), self._close, grown, flat, settings,
               to_device(TAYLOR, device), up, down, count, bars,
               TERMS=len(TAYLOR), TILE=TILE)  # fmt: skip
        votes = torch.empty((bars, families), dtype=torch.int8, device=device)
        launch(votes_kernel, (triton.cdiv(families, LANES),), words, up, down, flat, settings,
               votes, families, count, bars, FLOOR=FLOOR, PER_ROW=FAMILIES, LANES=LANES,
               warps=1)  # fmt: skip
        starts = to_device(np.maximum(parameters[:, 12:].T / 10.0, FLOOR), device)
        out = torch.empty((bars, count), dtype=torch.float64, device=device)
        launch(row_kernel, (triton.cdiv(count, LANES),), votes, up, down, flat, settings, starts,
               out, count, bars, FLOOR=FLOOR, REPEATS=is_script, LANES=LANES, warps=1)  # fmt: skip
        return out.t()

    def _sides(self, parameters: Ints, is_script: bool) -> torch.Tensor:
        """Places [U * 6, 9] of all averages among the codes, which are there then."""
        asked: list[Average] = []
        for row in parameters.tolist():
            for family, base in enumerate(row[:FAMILIES]):
                form = IN_SCRIPT.get(family, family) if is_script else family
                asked += [(form, n) for n in lengths_of(base, row[6]).tolist()]
        missing = self._missing(asked)
        if (len(self._places) + len(missing)) * self._n_bars > self._work_bytes:
            # What earlier rows were made of goes, all of it.
            self._places.clear()
            self._codes = self._codes[:0]
            missing = self._missing(asked)
        for form in sorted({form for form, _ in missing}):
            lengths = sorted(n for one, n in missing if one == form)
            self._places |= {(form, n): len(self._codes) + i for i, n in enumerate(lengths)}
            self._codes = torch.cat((self._codes, self._taken(form, lengths)))
        places = np.array([self._places[one] for one in asked], np.int32)
        return to_device(places.reshape(-1, LENGTHS), self._device)

    def _missing(self, asked: list[Average]) -> set[Average]:
        return {one for one in asked if one not in self._places}

    def _taken(self, form: int, lengths: list[int]) -> torch.Tensor:
        """Codes [A, T] of averages of one form."""
        count, bars = len(lengths), self._n_bars
        codes = torch.empty((count, bars), dtype=torch.uint8, device=self._device)
        averages = self._averages(form, lengths)
        known = to_device(np.array(averages.known, np.int32), self._device)
        tile = min(SCANNED, triton.next_power_of_2(bars))
        launch(sides_kernel, (count,), self._close, averages.values, *averages.values.stride(),
               known, self._band, codes, bars, TILE=tile)  # fmt: skip
        return codes

    def _averages(self, form: int, lengths: list[int]) -> "_Averages":
        there = to_device(np.array(lengths, np.int32), self._device)
        if form in (WMA, LSMA, SMA):
            kind = {WMA: WEIGHTED, LSMA: LINE, SMA: MEAN}[form]
            return _Averages(
                self._windows(self._close, there, lengths, kind), [n - 1 for n in lengths]
            )
        if form == HMA:
            half = self._windows(self._close, there // 2, [n // 2 for n in lengths], WEIGHTED)
            raw = half.mul_(2.0).sub_(self._windows(self._close, there, lengths, WEIGHTED))
            roots = [math.isqrt(n) for n in lengths]
            root = to_device(np.array(roots, np.int32), self._device)
            known = [n - 2 + r for n, r in zip(lengths, roots, strict=True)]
            return _Averages(self._windows(raw, root, roots, WEIGHTED), known)
        count, bars = len(lengths), self._n_bars
        out = torch.empty((bars, count), dtype=torch.float64, device=self._device)
        shares = (triton.cdiv(count, LANES),)
        if form in (KAMA, KAMA_FROM_ZERO):
            steps = torch.zeros_like(self._close)
            torch.abs(self._close[1:] - self._close[:-1], out=steps[1:])
            paths = self._windows(steps, there, lengths, PATH)
            launch(kaufman_kernel, shares, self._close, there, paths, self._factors, out, count,
                   bars, FROM_ZERO=form == KAMA_FROM_ZERO, LANES=LANES, warps=1)  # fmt: skip
            return _Averages(out.t(), [0] * count)
        weights = to_device(2.0 / (np.array(lengths) + 1), self._device)
        seeds = [self._first + self._sums[n - 1] / n if n <= bars else 0.0 for n in lengths]
        begun = to_device(np.array(seeds), self._device)
        launch(chain_kernel, shares, self._close, there, weights, begun, out, count,
               bars, IS_DOUBLE=form == DEMA, LANES=LANES, warps=1)  # fmt: skip
        return _Averages(out.t(), [n - 1 for n in lengths])

    def _windows(
        self, values: torch.Tensor, there: torch.Tensor, lengths: list[int], kind: object
    ) -> torch.Tensor:
        """Windows [A, T] of one series [T], or of a row [A, T] each."""
        shape = len(lengths), self._n_bars
        left, left2, out = (
            torch.empty(shape, dtype=torch.float64, device=self._device) for _ in range(3)
        )
        blocks = triton.cdiv(triton.cdiv(self._n_bars, min(lengths)), LANES)
        stride = values.stride(0) if values.ndim == 2 else 0
        launch(window_kernel, (len(lengths), blocks), values, stride, there, left, left2, out,
               self._n_bars, FORM=kind, LANES=LANES, warps=1)  # fmt: skip
        return out


class _Averages(NamedTuple):
    """Averages [A, T], whatever their strides, and the first bars at which they are known."""

    values: torch.Tensor
    known: list[int]
