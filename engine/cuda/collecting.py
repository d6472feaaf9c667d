"""Trades of the fast case, brought from the device's lists to the host."""

from collections.abc import Sequence

import numpy as np
import torch

from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, NO_LEGS, REASONS, Ledger
from engine.accounts.results import Results, arrange_results
from engine.backend import Floats, Ints
from engine.positions.cuda.chain import LATE_GAP
from engine.runtime.cuda.types import Lists, TradePrices
from engine.runtime.cuda.watchdog import to_host

TRADES, COARSE, SKIPPED = (ACCUMULATOR_INDEX[name] for name in ("trades", "coarse", "skipped"))

STOP_GAP = REASONS.index("stop_gap")

EXIT_BITS = 0x7FFFFFFF
"""Bits of an entry of a list of trades with the bar of the exit."""


def _take_trades(lists: Lists, counts: Ints, of_pairs: Sequence[torch.Tensor]) -> list[np.ndarray]:
    """Entries of trades in lists [pairs, capacity], of the first pairs; counts [pairs] of each."""
    pairs, most = len(counts), int(counts.max(initial=0))
    is_there = torch.arange(most, device=lists.trades.device) < lists.trades[:pairs, None]
    return [to_host(tensor[:pairs, :most][is_there]) for tensor in of_pairs]


def extract_results(lists: Lists, accumulators: Floats, opened: Ints) -> Results:
    """Results of the first pairs, with accumulators [P, W, A]; `opened` [B] on their axis."""
    counts = accumulators[:, :, TRADES].astype(np.int64)
    bars, r = _take_trades(lists, counts.ravel(), (lists.trade_list, lists.r))
    return arrange_results(counts, opened[bars & EXIT_BITS], r, np.ones(len(r), np.int8))


def collect_trades(
    lists: Lists,
    results: torch.Tensor,
    kept: TradePrices,
    starts: Ints,
    delay: int,
    *,
    has_limits: bool,
) -> tuple[Ledger, *tuple[Ints, ...]]:
    """All trades of the first pairs of individual and window, one pair after the other.

    `starts` [pairs]: the first bar of each pair's series; `results` as in `Workspace`. Returned
    with them are how many each pair has, and `COUNTS`.
    """
    pairs = len(starts)
    counts, rejected = (to_host(tensor[:pairs]) for tensor in (lists.trades, lists.rejected))
    listed = lists.trade_list, kept.prices, kept.reasons, lists.r
    bars, prices, reasons, r = _take_trades(lists, counts, listed)
    gross = NO_LEGS
    if has_limits:
        gross = _take_trades(lists, counts, (kept.gross,))[0][:, None]
    numbers = to_host(results[: pairs * len(ACCUMULATORS)]).reshape(pairs, -1)
    coarse, skipped = (numbers[:, column].astype(np.int64) for column in (COARSE, SKIPPED))
    first = starts.repeat(counts)
    signal_bar, exit_bar = (bars >> 32) - first, (bars & EXIT_BITS) - first
    entry, stop, target, leave = np.ascontiguousarray(prices.T)
    sides = np.ones(len(bars), np.int8)
    held = exit_bar - signal_bar - delay - (reasons == STOP_GAP)
    reasons = np.where(reasons == LATE_GAP.value, STOP_GAP, reasons).astype(np.int8)
    trades = Ledger(
        signal_bar, signal_bar + 1 + delay, exit_bar, reasons, entry, stop, target, leave, r, sides,
        stop, held, gross=gross,
    )  # fmt: skip
    nothing = np.zeros_like(rejected)
    return trades, counts, rejected, nothing, nothing, coarse, skipped
