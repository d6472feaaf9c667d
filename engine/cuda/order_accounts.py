"""The launches of strategies with orders, ladders or money: one walk of pairs, and its lists."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, EXIT_PLACES, Ledger
from engine.accounts.results import Results, arrange_results, join_results
from engine.accounts.stake import VOLATILITY, Stake
from engine.accounts.strategy_stakes import build_stake
from engine.backend import Floats, Ints, Slots
from engine.cuda.account_folding import AccountFolding, FoldedTrades
from engine.cuda.accounts import WindowGroup
from engine.cuda.inputs import BatchInputs, IndividualInputs, SentInputs
from engine.cuda.workspace import Outcomes
from engine.indicators.cuda.market import SeriesPrices
from engine.population import build_rules, find_part, lower_parts
from engine.positions.cpu.orders import OrderRules
from engine.positions.cuda.order_results import FIGURES, WHOLE
from engine.positions.cuda.order_walk import walk_kernel
from engine.positions.exit_spec import MARKET
from engine.runtime.compiling.launch import launch
from engine.runtime.cpu.bitset import list_set_bars
from engine.runtime.cuda.watchdog import to_device, to_host
from strategy.forms import SUM_SLACK, follows_level
from strategy.model import Strategy

N_OUT = len(ACCUMULATORS)

LANES = 32
"""Individuals that a warp walks together."""

FIRST_CAPACITY = 256
"""Trades that lists have room for at first."""

FOLDED_BYTES = 4 * 2 + 8 * 4
"""Of a trade of an account: its end, its place, and four numbers."""

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
    """Positions on all series.

    Args:
        spec: The strategy.
        costs: Costs and risk rules.
        prices: Of each series.
        folding: Of accounts.
        device: Where tensors lie.

    Raises:
        EngineError: As `engine.accounts.stake.build_stake`.
    """

    def __init__(
        self,
        spec: Strategy,
        costs: Costs,
        prices: Sequence[SeriesPrices],
        folding: AccountFolding,
        device: torch.device,
    ) -> None:
        self._prices, self._folding, self._device = prices, folding, device
        longs, shorts = sides = lower_parts(spec)
        rules = build_rules(spec, costs, sides)
        self._counts, self._legs, self._even_leg = (
            rules.targets.tolist(),
            rules.legs,
            rules.even_leg,
        )
        stake = build_stake(spec, costs, spec.layout.decode(spec.layout.defaults))
        self._charges, self._size = to_device(encode_charges(rules, stake), device), stake.form
        self._flags = {
            # A side that never enters is at the market, as the law has it.
            "LONG_ORDER": MARKET if spec.long is None else find_part(longs, "entry").form,
            "SHORT_ORDER": MARKET if spec.short is None else find_part(shorts, "entry").form,
            "REVERSES": rules.reverses,
            "CANCELS": spec.cancel is not None,
            "DAYS": spec.session is not None,
            "MOVES": spec.trail is not None or spec.break_even is not None,
            "EVEN_LEG": rules.even_leg > 0,
            "LADDERS": rules.legs > 0,
            "COOLS": spec.cooldown is not None,
            "LEVELS": follows_level(spec.trail),
            "EVEN_FORM": rules.even_form,
            "NAMES": rules.names_stops,
            "BOUNDED": spec.exit_bounds is not None,
            "SLIPS": spec.slippage is not None,
            "HAS_TICK": rules.tick_over > 0.0,
            "CARRIES": spec.funding is not None or spec.borrow is not None,
            "SIZE": self._size,
        }

    def first_capacity(self, group: WindowGroup, *, is_listed: bool) -> int:
        """Trades that lists have room for at first, where they are wanted."""
        return FIRST_CAPACITY if is_listed else 0

    def bytes_of_pair(self, capacity: int, *, keeps: bool, is_account: bool) -> int:
        """Bytes of an individual in a window; trades are listed where they are wanted."""
        whole, figures = self._widths
        listed = (4 * whole + 8 * figures) * (keeps or is_account) + FOLDED_BYTES * is_account
        return capacity * listed + 16 * N_OUT

    def count_needed(self, lists: list[TradeLists], accumulators: Floats) -> int:
        """The largest count of trades."""
        return int(accumulators[:, :, 0].max(initial=0))

    def run(
        self,
        group: WindowGroup,
        sent: Iterable[SentInputs],
        room: int,
        capacity: int,
        outcomes: Outcomes,
        *,
        keeps: bool = False,
        is_account: bool = False,
    ) -> list[TradeLists]:
        """Launch from conditions to accumulators; nothing waits for the host.

        `sent` gives what is asked of each series, when it is its turn; where they are wanted there
        are lists of the trades of each series.
        """
        n_windows, listed = len(group.table), []
        results = outcomes.results[: room * n_windows * N_OUT].view(room, n_windows, N_OUT)
        trades = self._make_room(room * n_windows, capacity) if is_account else None
        first: tuple[torch.Tensor, torch.Tensor] | None = None
        for part, (batch, each, windows, of_all) in zip(group.parts, sent, strict=True):
            prices, window_numbers = self._prices[part.number], windows[:, 0].long()
            sums, lists = self._walk(
                batch, each, windows, prices, capacity if keeps or is_account else 0
            )
            results.index_copy_(1, window_numbers, sums.permute(2, 1, 0))
            if trades is not None:
                note_trades(trades, lists, window_numbers, room)
            listed.append(lists)
            first = first or (each.size, of_all)
        if trades is not None:
            assert first is not None
            counts = results[:, :, 0].reshape(-1)
            outcomes.counts[:1].copy_(counts.amax())
            trades.counts.copy_(counts.clamp(max=capacity))
            accounts = outcomes.accounts[: room * N_OUT].view(room, N_OUT)
            self._folding.fold(*first, trades, results.view(-1, N_OUT), accounts)
        return listed

    def _make_room(self, pairs: int, capacity: int) -> FoldedTrades:
        """Room for the trades of all series."""
        counts = torch.empty(pairs, dtype=torch.int32, device=self._device)
        ends, places = (
            torch.empty((pairs, capacity), dtype=torch.int32, device=self._device) for _ in range(2)
        )
        r, short_r, keys, merged = (
            torch.empty((pairs, capacity), dtype=torch.float64, device=self._device)
            for _ in range(4)
        )
        return FoldedTrades(counts, ends, r, short_r, keys, merged, places)

    def build_ledgers(
        self, group: WindowGroup, lists: list[TradeLists], accumulators: Floats, delays: Ints
    ) -> list[tuple[Ledger, ...]]:
        """Ledgers [W] of individuals, of whom are lists and accumulators [P, W, A]."""
        by_individual: list[list[Ledger]] = [[] for _ in accumulators]
        for part, of_series in zip(group.parts, lists, strict=True):
            sums = accumulators[:, part.windows[:, 0]].astype(np.int64)
            whole, figures = take_trades(of_series, sums[:, :, 0], self._device)
            counts = [sums[:, :, ACCUMULATOR_INDEX[name]] for name in ("trades", *COUNTS)]
            cut = self._build_ledgers(whole, figures).cut(*counts)
            for ledgers, some in zip(by_individual, cut, strict=True):
                ledgers += some
        order = np.argsort(np.concatenate([part.windows[:, 0] for part in group.parts])).tolist()
        return [tuple(ledgers[number] for number in order) for ledgers in by_individual]

    def build_results(
        self, group: WindowGroup, lists: list[TradeLists], accumulators: Floats
    ) -> Results:
        """Results of their trades."""
        members, by_series, axis = np.arange(len(accumulators)), [], self._folding.axis
        for part, of_series in zip(group.parts, lists, strict=True):
            window_numbers = part.windows[:, 0]
            counts = accumulators[:, window_numbers, 0].astype(np.int64)
            whole, figures = take_trades(of_series, counts, self._device)
            first = axis.starts[part.number]
            exit_ns = axis.opened_ns[first + whole[:, EXIT_BAR]]
            sides = whole[:, SIDE].astype(np.int8)
            results = arrange_results(counts, exit_ns, figures[:, R].copy(), sides)
            by_series.append((members, window_numbers, results))
        return join_results(by_series, *accumulators.shape[:2])

    def list_bars(self, number: int, sent: SentInputs, window: tuple[int, int]) -> Slots:
        """Signal bars [S] of one individual in one window of a series, of either side."""
        batch, each, *_ = sent
        longs, shorts = (
            np.zeros(words.shape[1], np.uint64)
            if which < 0
            else to_host(words[which]).view(np.uint64)
            for words, which in zip(
                (batch.longs, batch.shorts), to_host(each.entries[0]).tolist(), strict=True
            )
        )
        both_rest = self._flags["LONG_ORDER"] and self._flags["SHORT_ORDER"]
        asks: Any = longs | shorts if both_rest else longs ^ shorts
        bars = list_set_bars(asks).astype(np.int32)
        _, delay, warm_up = to_host(each.bars[0]).tolist()
        signals: Slots = bars[(bars >= max(window[0], warm_up)) & (bars < window[1] - 1 - delay)]
        return signals

    @property
    def _widths(self) -> tuple[int, int]:
        """Whole numbers and figures of a listed trade."""
        return int(WHOLE.value) + self._legs, int(FIGURES.value) + self._legs

    def _walk(
        self,
        batch: BatchInputs,
        each: IndividualInputs,
        windows: torch.Tensor,
        prices: SeriesPrices,
        capacity: int,
    ) -> tuple[torch.Tensor, TradeLists]:
        """Sums [A, W, P] on a series, and lists with room for so many trades of each pair."""
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
        launch(walk_kernel, (-(-members // LANES), count), prices.market, prices.finer,
               prices.finer_of, batch.code, batch.constants, batch.reads, batch.forms,
               batch.rows, each.slots, each.genomes, each.numbers, batch.carried, each.carried_of,
               self._charges, batch.longs, batch.shorts, each.entries, batch.leaves, each.exits,
               batch.cancels, each.cancels, each.bars, batch.sessions, each.session_of, batch.days,
               windows, levels, bars, reasons, sums, *lists, each.size, members,
               batch.rows.shape[1], batch.longs.shape[1], each.genomes.shape[1],
               each.slots.shape[1], each.numbers.shape[1], *self._counts, self._even_leg, capacity,
               self._legs, warps=1, LANES=LANES, FINER=prices.has_finer,
               **self._flags)  # fmt: skip
        for column, counted in zip(EXIT_PLACES, reasons, strict=True):
            sums[column].copy_(counted)
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


def note_trades(trades: FoldedTrades, lists: TradeLists, places: torch.Tensor, room: int) -> None:
    """Put trades of a series, whose windows [w] have places among all, beside those of others."""
    capacity = trades.ends.shape[1]
    ends, sides = (
        lists.whole[:, :, column].view(-1, room, capacity).transpose(0, 1)
        for column in (EXIT_BAR, SIDE)
    )
    r = lists.figures[:, :, R].view(-1, room, capacity).transpose(0, 1)
    columns = (trades.ends, ends), (trades.r, r), (trades.short_r, r.where(sides < 0, 0.0))
    for of_all, of_series in columns:
        of_all.view(room, -1, capacity).index_copy_(1, places, of_series)


def encode_charges(rules: OrderRules, stake: Stake) -> Floats:
    """Numbers that all individuals share, as `order_fills` counts them."""
    charges = [
        rules.per_side, rules.min_risk, rules.unit_fee, rules.tick_over, rules.tick_under,
        TICK_SLACK, SUM_SLACK, stake.cash, stake.worth, stake.lot_over, stake.lot_under, LOT_SLACK,
        stake.fee, stake.fee_unit, stake.fee_min,
    ]  # fmt: skip
    return np.array(charges, np.float64)


def take_trades(lists: TradeLists, counts: Ints, device: torch.device) -> tuple[Ints, Floats]:
    """Trades of pairs, individual after individual; counts [P, W] say how many each has."""
    members, windows = counts.shape
    most = int(counts.max(initial=0))
    # Lists lie window after window.
    order = np.arange(windows * members).reshape(windows, members).T.reshape(-1)
    pair_numbers = to_device(order, device)
    is_there = torch.arange(most, device=device) < to_device(counts.reshape(-1, 1), device)
    taken: Sequence[torch.Tensor] = [
        tensor[:, :most].index_select(0, pair_numbers)[is_there] for tensor in lists
    ]
    return to_host(taken[0]), to_host(taken[1])
