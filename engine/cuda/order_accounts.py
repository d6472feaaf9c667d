"""The launches of strategies with orders, ladders or money: one walk of pairs, and its lists."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, EXIT_PLACES, Ledger
from engine.accounts.results import Results, arrange_results
from engine.accounts.stake import VOLATILITY, build_stake
from engine.backend import Floats, Ints, Slots
from engine.cuda.order_inputs import OrderBatch, OrderIndividuals, OrderInputs
from engine.indicators.cuda.market import SeriesPrices
from engine.positions.cuda.order_results import FIGURES, WHOLE
from engine.positions.cuda.order_walk import walk_kernel
from engine.positions.encode import form_of_exit, form_of_order, lower_targets
from engine.runtime.compiling.launch import launch
from engine.runtime.cuda.watchdog import to_device, to_host
from strategy.exits import follows_level, split_sides
from strategy.model import Strategy
from strategy.money import find_step
from strategy.orders import SUM_SLACK
from strategy.rows import resolve_value

N_OUT = len(ACCUMULATORS)

LANES = 32
"""Individuals that a warp walks together."""

FIRST_CAPACITY = 256
"""Trades that lists have room for at first."""

EXIT_BAR, SIDE = 2, 4
"""Whole numbers of a listed trade that results take."""

R = 4
"""The figure that they take."""

TICK_SLACK, LOT_SLACK = 1e-4, 1e-9
"""Fraction of a tick or a lot by which a price or a size may miss it and still have it."""

COUNTS = ("rejected", "orders", "expired", "coarse")
"""Accumulators that a ledger holds as well."""


class TradeLists(NamedTuple):
    """Trades of pairs, of [W, P] each; see `engine.positions.cuda.order_results.LaneLists`."""

    whole: torch.Tensor  # [pairs, capacity, n] int32
    figures: torch.Tensor  # [pairs, capacity, n]


class OrderAccounts:
    """Positions on one series.

    Args:
        spec: The strategy.
        costs: Costs and risk rules.
        inputs: What individuals ask of the series.
        prices: Of the series.
        work_bytes: Room for lists.
        device: Where tensors lie.

    Raises:
        EngineError: As `engine.accounts.stake.build_stake`.
    """

    def __init__(
        self,
        spec: Strategy,
        costs: Costs,
        inputs: OrderInputs,
        prices: SeriesPrices,
        work_bytes: int,
        device: torch.device,
    ) -> None:
        self._inputs, self._prices, self._device = inputs, prices, device
        self._work_bytes, self._capacity = work_bytes, FIRST_CAPACITY
        targets = lower_targets(spec)
        counts = [len(side) for side in targets]
        self._counts, self._is_ladder = counts, spec.targets is not None
        self._even_leg = 0 if spec.after_leg is None else spec.after_leg.leg
        charges, self._size = encode_charges(spec, costs)
        self._charges = to_device(charges, device)
        orders = [form_of_order(order).form for order in split_sides(spec.entry)]
        # A side that never enters is at the market, as the law has it.
        entries = (spec.long, spec.short)
        self._orders = [
            0 if entry is None else form for entry, form in zip(entries, orders, strict=True)
        ]
        self._flags = {
            "LONG_ORDER": self._orders[0],
            "SHORT_ORDER": self._orders[1],
            "REVERSES": bool(spec.reverse),
            "CANCELS": spec.cancel is not None,
            "DAYS": spec.session is not None,
            "MOVES": spec.trail is not None or spec.break_even is not None,
            "EVEN_LEG": self._even_leg > 0,
            "LADDERS": self._is_ladder,
            "COOLS": spec.cooldown is not None,
            "LEVELS": follows_level(spec.trail),
            "EVEN_FORM": form_of_exit(spec.even_offset).form,
            "NAMES": bool(spec.named_stops),
            "BOUNDED": spec.exit_bounds is not None,
            "SLIPS": spec.slippage is not None,
            "HAS_TICK": find_step(spec.market, "tick").numerator > 0.0,
            "CARRIES": spec.funding is not None or spec.borrow is not None,
            "SIZE": self._size,
            "FINER": prices.has_finer,
        }

    def fold(self, batch: OrderBatch, each: OrderIndividuals, windows: Ints) -> Iterator[Floats]:
        """Accumulators [P, W, A] of individuals in windows [W, 2], start and end each."""
        sums, _ = self._walk(batch, each, windows, 0)
        yield to_host(sums.permute(2, 1, 0).contiguous())

    def ledgers(
        self, batch: OrderBatch, each: OrderIndividuals, windows: Ints
    ) -> list[tuple[Ledger, ...]]:
        """Ledgers [W] of each individual [P]; arguments as in `fold`."""
        ledgers: list[tuple[Ledger, ...]] = []
        for sums, lists in self._iter_lists(batch, each, windows):
            whole, figures = take_trades(lists, sums[:, :, 0].astype(np.int64), self._device)
            counts = [
                sums[:, :, ACCUMULATOR_INDEX[name]].astype(np.int64) for name in ("trades", *COUNTS)
            ]
            ledgers += self._build_ledgers(whole, figures).cut(*counts)
        return ledgers

    def list_results(
        self, batch: OrderBatch, each: OrderIndividuals, windows: Ints, times: Ints
    ) -> Iterator[tuple[Floats, Results]]:
        """The same accumulators, with results of their trades; `times` [T] say when bars open."""
        for sums, lists in self._iter_lists(batch, each, windows):
            counts = sums[:, :, 0].astype(np.int64)
            whole, figures = take_trades(lists, counts, self._device)
            exit_ns, sides = times[whole[:, EXIT_BAR]], whole[:, SIDE].astype(np.int8)
            yield sums, arrange_results(counts, exit_ns, figures[:, R].copy(), sides)

    def signals(self, batch: OrderBatch, each: OrderIndividuals, window: Ints) -> Slots:
        """Signal bars [S] of one individual in one window [2], of either side."""
        both_rest = all(self._orders)
        bars = self._inputs.list_signals(batch, each, both_rest=both_rest)
        _, delay, warm_up = to_host(each.bars[0]).tolist()
        first = max(int(window[0]), warm_up)
        signals: Slots = bars[(bars >= first) & (bars < int(window[1]) - 1 - delay)]
        return signals

    def _iter_lists(
        self, batch: OrderBatch, each: OrderIndividuals, windows: Ints
    ) -> Iterator[tuple[Floats, TradeLists]]:
        """Accumulators [n, W, A] and lists of individuals who fit the room for them together."""
        begin = 0
        while begin < len(each.bars):
            step = self._work_bytes // (self._list_bytes() * len(windows))
            # Fours begin at multiples of 16 bytes: kernels are compiled for such addresses.
            step = max(step // 4, 1) * 4
            some = each.part(slice(begin, begin + step))
            sums, lists = self._walk(batch, some, windows, self._capacity)
            accumulators = to_host(sums.permute(2, 1, 0).contiguous())
            most = int(accumulators[:, :, 0].max())
            if most > self._capacity:
                self._capacity = most + most // 8
                continue
            yield accumulators, lists
            begin += len(some.bars)

    @property
    def _listed_legs(self) -> int:
        """Targets that a ledger says the bars of: those of a ladder."""
        return max(self._counts) if self._is_ladder else 0

    @property
    def _widths(self) -> tuple[int, int]:
        """Whole numbers and figures of a listed trade."""
        return int(WHOLE.value) + self._listed_legs, int(FIGURES.value) + self._listed_legs

    def _list_bytes(self) -> int:
        """Bytes of a pair's lists."""
        whole, figures = self._widths
        return self._capacity * (4 * whole + 8 * figures) + 8 * N_OUT

    def _walk(
        self, batch: OrderBatch, each: OrderIndividuals, windows: Ints, capacity: int
    ) -> tuple[torch.Tensor, TradeLists]:
        """Sums [A, W, P], and lists with room for so many trades of each pair."""
        members, count = len(each.bars), len(windows)
        pairs = members * count
        lists = TradeLists(
            *(
                torch.empty((pairs, capacity, width), dtype=kind, device=self._device)
                for width, kind in zip(self._widths, (torch.int32, torch.float64), strict=True)
            )
        )
        # What no order counts stays 0.
        sums = torch.zeros((N_OUT, count, members), dtype=torch.float64, device=self._device)
        targets = max(*self._counts, 1) * 2 * pairs
        levels = torch.empty(targets, dtype=torch.float64, device=self._device)
        bars = torch.empty(targets, dtype=torch.int32, device=self._device)
        reasons = torch.zeros((len(EXIT_PLACES), count, members), dtype=torch.int32,
                              device=self._device)  # fmt: skip
        there = to_device(windows.astype(np.int32), self._device)
        launch(walk_kernel, (-(-members // LANES), count), self._prices.market, self._prices.finer,
               self._prices.finer_of, batch.code, batch.constants, batch.reads, batch.forms,
               batch.rows, each.slots, each.genomes, each.numbers, batch.carried, each.carried_of,
               self._charges, batch.longs, batch.shorts, each.entries, batch.leaves, each.exits,
               batch.cancels, each.cancels, each.bars, batch.sessions, each.session_of, batch.days,
               there, levels, bars, reasons, sums, *lists, members, batch.rows.shape[1],
               batch.longs.shape[1], each.genomes.shape[1], each.slots.shape[1],
               each.numbers.shape[1], *self._counts, self._even_leg, capacity, self._listed_legs,
               warps=1, LANES=LANES, **self._flags)  # fmt: skip
        sums[list(EXIT_PLACES)] = reasons.to(torch.float64)
        return sums, lists

    def _build_ledgers(self, whole: Ints, figures: Floats) -> Ledger:
        """All trades of pairs, one pair after the other, as one ledger."""
        signal_bar, entry_bar, exit_bar, reason, side, held = np.ascontiguousarray(
            whole[:, : WHOLE.value].T.astype(np.int64)
        )
        entry, stop, target, leave, r, last_stop, _ = np.ascontiguousarray(
            figures[:, : FIGURES.value].T
        )
        last = FIGURES.value - (self._size != VOLATILITY)
        return Ledger(
            signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
            side.astype(np.int8), last_stop, held,
            np.ascontiguousarray(whole[:, WHOLE.value :].astype(np.int64)),
            np.ascontiguousarray(figures[:, FIGURES.value :]),
            np.ascontiguousarray(figures[:, FIGURES.value - 1 : last]),
        )  # fmt: skip


def encode_charges(spec: Strategy, costs: Costs) -> tuple[Floats, int]:
    """Numbers that all individuals share, as `order_fills` counts them, and the form of sizes."""
    layout = spec.layout
    stake = build_stake(spec, costs, layout.decode(layout.defaults))
    market = spec.market
    multiplier = 1.0 if market is None else resolve_value(market.multiplier, {})
    charges = [
        costs.per_side, costs.min_risk, costs.fee_unit / multiplier, *find_step(market, "tick"),
        TICK_SLACK, SUM_SLACK, stake.cash, stake.worth, stake.lot_over, stake.lot_under, LOT_SLACK,
        stake.fee, stake.fee_unit, stake.fee_min,
    ]  # fmt: skip
    return np.array(charges, np.float64), stake.form


def take_trades(lists: TradeLists, counts: Ints, device: torch.device) -> tuple[Ints, Floats]:
    """Trades of pairs, individual after individual; counts [P, W] say how many each has."""
    members, windows = counts.shape
    most = int(counts.max(initial=0))
    # Lists lie window after window.
    order = np.arange(windows * members).reshape(windows, members).T.reshape(-1)
    places = to_device(order, device)
    is_there = torch.arange(most, device=device) < to_device(counts.reshape(-1, 1), device)
    taken: Sequence[torch.Tensor] = [
        tensor[:, :most].index_select(0, places)[is_there] for tensor in lists
    ]
    return to_host(taken[0]), to_host(taken[1])
