"""Lists of the signals and trades of strategies in words, and the part that the host takes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from engine.accounts.ledger import NO_LEGS, Ledger
from engine.backend import Floats, Ints
from engine.positions.cuda.both_sides import (
    LATE_GAP,
    SESSION,
    SESSION_OPEN,
    SIGNAL,
    STOP_GAP,
)
from engine.runtime.cuda.watchdog import to_host

KEPT_PRICES = 5
"""Entry, stop, target, exit and last stop."""

AT_OPEN = [reason.value for reason in (SIGNAL, STOP_GAP, SESSION_OPEN)]
"""How a position is left at an open."""

LIST_BYTES = 4 * 3 + 8 * 4 + 1
"""Bytes of one signal: its mark, its end, taken ones, four numbers, and a note."""

FIRST_CAPACITY = 2048
"""Signals that a list holds at first, or an eighth of the longest window's bars if that is less;
lists that were too short are doubled and made again."""

SHORTEST_LIST = 64
"""Below this, lists made twice cost more than the room."""

MULTIPLE = 16
"""Unit of a list's length in entries, so that lists begin at whole vectors."""

ASKED_BYTES = 8 * 2
"""Bytes of one signal that needs room: its leverage, alone and with open positions."""


def first_capacity(n_bars: int) -> int:
    """Signals that a list has room for at first, in a window of so many bars."""
    return round_up_capacity(max(SHORTEST_LIST, min(FIRST_CAPACITY, n_bars // 8)))


def longer(most: int) -> int:
    """Signals that a list has room for once there were so many."""
    return round_up_capacity(1 << (most - 1).bit_length())


def round_up_capacity(entries: int) -> int:
    """Entries of a list of at least so many."""
    return -(-entries // MULTIPLE) * MULTIPLE


class SignalLists(NamedTuple):
    """Signals and trades of pairs of individual and window, [pairs, capacity] each."""

    counts: torch.Tensor  # [pairs]
    marks: torch.Tensor
    leaves: torch.Tensor
    places: torch.Tensor
    trades: torch.Tensor  # [pairs]
    rejected: torch.Tensor  # [pairs]
    signal_r: torch.Tensor
    r: torch.Tensor  # before there are trades, int32: which signal follows which
    short_r: torch.Tensor
    equity: torch.Tensor
    prices: torch.Tensor  # [pairs, capacity, KEPT_PRICES]; [1] without a ledger
    leverages: torch.Tensor  # [1] without limits
    totals: torch.Tensor  # leverages with open positions; [1] without limits
    gross: torch.Tensor  # without the signal's own; [1] without limits, or no ledger
    notes: torch.Tensor  # int8, of signals on finer bars; [1] without any
    coarse: torch.Tensor  # [pairs]
    most: torch.Tensor  # [1] int32, the largest count

    @staticmethod
    def bytes_of_pair(capacity: int, *, keeps: bool, has_limits: bool) -> int:
        """Bytes that one pair takes."""
        each = LIST_BYTES + 8 * KEPT_PRICES * keeps + has_limits * (ASKED_BYTES + 8 * keeps)
        return capacity * each

    @classmethod
    def empty(
        cls,
        pairs: int,
        capacity: int,
        device: torch.device,
        *,
        keeps: bool,
        has_limits: bool,
        has_finer: bool,
        most: torch.Tensor,
    ) -> "SignalLists":
        """Room for so many pairs; nothing but `most` is read before it is written."""

        def make(kind: torch.dtype, *shape: int, is_wanted: bool = True) -> torch.Tensor:
            return torch.empty(shape if is_wanted else (1,), dtype=kind, device=device)

        counts, trades, rejected, coarse = (make(torch.int32, pairs) for _ in range(4))
        shape = pairs, capacity
        marks, leaves, places = (make(torch.int32, *shape) for _ in range(3))
        signal_r, r, short_r, equity = (make(torch.float64, *shape) for _ in range(4))
        prices = make(torch.float64, *shape, KEPT_PRICES, is_wanted=keeps)
        leverages, totals = (make(torch.float64, *shape, is_wanted=has_limits) for _ in range(2))
        gross = make(torch.float64, *shape, is_wanted=has_limits and keeps)
        notes = make(torch.int8, *shape, is_wanted=has_finer)
        return cls(
            counts, marks, leaves, places, trades, rejected, signal_r, r, short_r, equity, prices,
            leverages, totals, gross, notes, coarse, most,
        )  # fmt: skip


def take_trades(
    lists: SignalLists, counts: Ints, of_signals: Sequence[torch.Tensor]
) -> list[np.ndarray]:
    """Trades in lists of signals [pairs, capacity], pair after pair.

    `counts` [pairs] say how many each pair has.
    """
    most = int(counts.max(initial=0))
    is_there = torch.arange(most, device=lists.trades.device) < lists.trades[:, None]
    signals = lists.places[:, :most][is_there].long()
    pairs = torch.arange(len(lists.trades), device=signals.device)[:, None]
    pairs = pairs.expand(-1, most)[is_there]
    return [to_host(tensor[pairs, signals]) for tensor in of_signals]


def take_listed(listed: torch.Tensor, counts: torch.Tensor) -> Floats:
    """Numbers of trades in lists [pairs, capacity], pair after pair; counts [pairs] of each."""
    columns = torch.arange(listed.shape[1], device=counts.device)
    numbers: Floats = to_host(listed[columns < counts[:, None]])
    return numbers


def read_sides(marks: npt.NDArray[np.int32]) -> npt.NDArray[np.int8]:
    """Sides of signals, 1 or -1, of what `mark_kernel` leaves of them."""
    return (1 - 2 * (marks & 1)).astype(np.int8)


def collect_trades(lists: SignalLists, delays: Ints) -> tuple[Ledger, Ints, Ints]:
    """All trades of pairs, one pair after the other, how many each has, and how many are rejected.

    `delays` [pairs]: bars by which the entries of each are late.
    """
    counts, rejected = to_host(lists.trades), to_host(lists.rejected)
    marks, leaves, prices = take_trades(lists, counts, (lists.marks, lists.leaves, lists.prices))
    signal_bar = (marks >> 1).astype(np.int64)
    entry, stop, target, leave, last_stop = np.ascontiguousarray(prices.T)
    entry_bar = signal_bar + 1 + delays.repeat(counts)
    exit_bar, how = (leaves >> 3).astype(np.int64), leaves & 7
    is_open = np.isin(how, AT_OPEN)
    if lists.notes.ndim == 2:
        (notes,) = take_trades(lists, counts, (lists.notes,))
        is_open &= notes & LATE_GAP.value == 0
    gross = NO_LEGS
    if lists.gross.ndim == 2:
        gross = take_listed(lists.gross, lists.trades)[:, None]
    reason = np.where(how == SESSION_OPEN.value, SESSION.value, how)
    trades = Ledger(
        signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave,
        take_listed(lists.r, lists.trades), read_sides(marks), last_stop,
        exit_bar - entry_bar + 1 - is_open,
        gross=gross,
    )  # fmt: skip
    return trades, counts, rejected
