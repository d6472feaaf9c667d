"""The launches of strategies with orders, ladders or money: one walk of pairs, and its lists."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from data.bars import Bars
from engine.accounts.costs import Costs
from engine.accounts.cpu.money import build_purse
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, Ledger
from engine.accounts.results import Results, arrange_results, join_results
from engine.accounts.stake import VOLATILITY
from engine.accounts.strategy_stakes import build_stake
from engine.backend import Floats, Ints, Slots
from engine.cuda.account_folding import AccountFolding, FoldedTrades
from engine.cuda.accounts import WindowGroup
from engine.cuda.inputs import BatchInputs, IndividualInputs, SentInputs
from engine.cuda.streams import Outcomes
from engine.errors import DeviceError
from engine.indicators.cuda.market import MOST_BARS
from engine.population import (
    FURTHER,
    ORDER_PARTS,
    build_rules,
    list_pairs,
    lower_parts,
    name_legs,
)
from engine.positions.cpu.batch import ORDER_NUMBERS, WHOLE
from engine.positions.cpu.exits import Extremes, build_extremes, build_finer
from engine.positions.cpu.orders import BEYOND, ORDER_PART, REST
from engine.positions.cuda.order_forms import Code, OrderForm
from engine.positions.cuda.order_walk import (
    LanePopulation,
    LaneResults,
    build_loop,
    choose_width,
    walk_lanes,
)
from engine.positions.exit_spec import MARKET
from engine.runtime.compiling.device_loops import LoadedKernel, compile_device_loop
from engine.runtime.cpu.bitset import list_set_bars
from engine.runtime.cuda.watchdog import to_device, to_host
from strategy.expressions import Number
from strategy.forms import find_rest
from strategy.model import Strategy

N_OUT = len(ACCUMULATORS)

FIRST_CAPACITY = 256
"""Trades that lists have room for at first."""

FOLDED_BYTES = 4 * 2 + 8 * 4
"""Bytes of a trade of an account: its end, its place, and four numbers."""

EXIT_BAR, SIDE = 2, 4
"""Whole numbers of a listed trade that results take."""

R = 4
"""The figure that they take."""

COUNTS = ("rejected", "orders", "expired", "coarse")
"""Accumulators that a ledger holds as well."""


class TradeLists(NamedTuple):
    """Trades of pairs, of [W, P] each; as `engine.positions.cpu.order_exits.OrderLists`."""

    whole: torch.Tensor  # [pairs, capacity, n] int32
    figures: torch.Tensor  # [pairs, capacity, n]


class OrderPrices(NamedTuple):
    """Prices of one series as walks of orders read them."""

    extremes: Extremes
    finer: torch.Tensor  # [4, K] as `Extremes.bars`
    finer_of: torch.Tensor  # [2, T] int32 first finer bar of each bar, and one past its last


class OrderAccounts:
    """Positions on all series.

    Args:
        spec: The strategy.
        costs: Costs and risk rules.
        codes: Formulas of each part, of longs and shorts.
        prices: Of each series.
        folding: Of accounts.
        device: Where tensors lie.

    Raises:
        EngineError: As `engine.accounts.strategy_stakes.build_stake`.
    """

    def __init__(
        self,
        spec: Strategy,
        costs: Costs,
        codes: Sequence[Sequence[Code]],
        prices: Sequence[OrderPrices],
        folding: AccountFolding,
        device: torch.device,
    ) -> None:
        self._prices, self._folding, self._device = prices, folding, device
        sides = lower_parts(spec)
        rules = build_rules(spec, costs, sides)
        self._legs, delay = rules.legs, sides[0]["delay"].number
        is_late = costs.entry_delay > 0 or not isinstance(delay, Number) or delay.value > 0
        pairs = list_pairs(sides, (*ORDER_PARTS, *name_legs(sides)))
        stake = build_stake(spec, costs, spec.layout.decode(spec.layout.defaults))
        long_targets, short_targets = rules.targets.tolist()
        self._form = OrderForm(
            tuple((longs.form, shorts.form) for longs, shorts in pairs),
            tuple((longs, shorts) for longs, shorts in codes),
            (long_targets, short_targets),
            tuple(rules.slippages.tolist()),
            stake.form,
            rules.tick_over > 0.0,
            False,
            rules.even_leg,
            rules.even_form,
            rules.names_stops,
            rules.reverses,
            rules.legs,
            rules.is_plain and not is_late,
        )
        # Those of the form stand in its place.
        nothing: Any = 0
        self._rules = rules._replace(targets=nothing, slippages=nothing)
        self._purse = build_purse(stake)

    @property
    def _both_rest(self) -> bool:
        """True if entries of both sides wait for a price."""
        return all(form != MARKET for form in self._form.forms[ORDER_PART])

    def first_capacity(self, group: WindowGroup, *, is_listed: bool) -> int:
        """Trades that requested lists have room for at first."""
        return FIRST_CAPACITY if is_listed else 0

    def bytes_of_pair(self, capacity: int, *, keeps: bool, is_account: bool) -> int:
        """Bytes of an individual in a window; trades are listed on request."""
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

        `sent` gives the inputs of each series, when it is its turn; on request there
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
        asks: Any = longs | shorts if self._both_rest else longs ^ shorts
        bars = list_set_bars(asks).astype(np.int32)
        _, delay, warm_up = to_host(each.bars[0]).tolist()
        signals: Slots = bars[(bars >= max(window[0], warm_up)) & (bars < window[1] - 1 - delay)]
        return signals

    @property
    def _widths(self) -> tuple[int, int]:
        """Whole numbers and figures of a listed trade."""
        return WHOLE + self._legs, ORDER_NUMBERS + self._legs

    def _walk(
        self,
        batch: BatchInputs,
        each: IndividualInputs,
        windows: torch.Tensor,
        prices: OrderPrices,
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
        # Absent ones are 0.
        sums = torch.zeros((N_OUT, count, members), dtype=torch.float64, device=self._device)
        whole, figures = (tensor.view(-1, tensor.shape[2]) for tensor in lists)
        results = LaneResults(each.size, windows, sums, whole, figures)
        asks = self._ask(batch, each, prices)
        # Of several series some may have finer bars.
        form = self._form._replace(has_finer=prices.finer_of.shape[1] > 0)
        width = choose_width(pairs)
        launch_loop(
            walk_lanes, form, (-(-members // width), count),
            prices.extremes, asks, self._rules, self._purse, capacity, width, results,
        )  # fmt: skip
        return sums, lists

    def _ask(
        self, batch: BatchInputs, each: IndividualInputs, prices: OrderPrices
    ) -> LanePopulation:
        """Orders of individuals as a walk reads them."""
        cancels, carried, day_ends = batch.cancels, batch.carried, batch.day_ends
        cancel_of, carried_of = each.cancels, each.carried_of
        assert cancels is not None
        assert carried is not None
        assert day_ends is not None
        assert cancel_of is not None
        assert carried_of is not None
        joined = batch.longs, batch.shorts, batch.leaves, cancels
        firsts = np.cumsum([0, *map(len, joined)]).tolist()
        longs, shorts = each.entries.unbind(1)
        entries = torch.stack((longs, move_up(shorts, firsts[1])), 1)
        numbers, further, shares, terms, break_even = self._split(each.numbers)
        max_hold, delay, warm_up = (column.contiguous() for column in each.bars.unbind(1))
        worse_of, borrow_of = (carried_of[:, first : first + 2].reshape(-1) for first in (0, 2))
        return LanePopulation(
            torch.cat(joined).view(torch.uint64), batch.rows, each.slots, each.genomes,
            batch.sessions, day_ends, entries, move_up(each.exits, firsts[2]),
            move_up(cancel_of, firsts[3]), numbers, further, shares, break_even, max_hold, delay,
            warm_up, each.session_of, carried, worse_of, carried, borrow_of,
            carried_of[:, 4].contiguous(), terms, prices.finer, prices.finer_of,
        )  # fmt: skip

    def _split(self, table: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Numbers [2 P, n], further ones [2 P, 5], shares [2 P, L], terms, break-even [P].

        `table` [P, n] as `list_order_numbers` has them; ticks become a price, and the share that no
        target takes is completed.
        """
        parts = len(self._form.forms)
        legs = parts - len(ORDER_PARTS)
        of_side = parts + len(FURTHER) + legs
        sides = table[:, : 2 * of_side].reshape(-1, of_side)
        numbers, further, shares = (
            some.contiguous() for some in torch.split(sides, [parts, len(FURTHER), legs], 1)
        )
        over, under = self._rules.tick_over, self._rules.tick_under
        further[:, BEYOND] = further[:, BEYOND] * over / under
        further[:, REST] = find_rest(shares.unbind(1))
        for side, count in enumerate(self._form.targets):
            if count == 0:
                further[side::2, REST] = 0.0
        terms = table[:, 2 * of_side : -1].contiguous()
        return numbers, further, shares, terms, table[:, -1].contiguous()

    def _build_ledgers(self, whole: Ints, figures: Floats) -> Ledger:
        """All trades of pairs, one pair after the other, as one ledger."""
        signal_bar, entry_bar, exit_bar, reason, side, held = np.ascontiguousarray(
            whole[:, :WHOLE].T.astype(np.int64)
        )
        entry, stop, target, leave, r, last_stop, _ = np.ascontiguousarray(
            figures[:, :ORDER_NUMBERS].T
        )
        last = ORDER_NUMBERS - (self._form.size != VOLATILITY)
        return Ledger(
            signal_bar, entry_bar, exit_bar, reason.astype(np.int8), entry, stop, target, leave, r,
            side.astype(np.int8), last_stop, held,
            np.ascontiguousarray(whole[:, WHOLE :].astype(np.int64)),
            np.ascontiguousarray(figures[:, ORDER_NUMBERS :]),
            np.ascontiguousarray(figures[:, ORDER_NUMBERS - 1 : last]),
        )  # fmt: skip


def note_trades(trades: FoldedTrades, lists: TradeLists, places: torch.Tensor, room: int) -> None:
    """Put trades of a series, with places of its windows [w] among all, beside those of others."""
    capacity = trades.ends.shape[1]
    ends, sides = (
        lists.whole[:, :, column].view(-1, room, capacity).transpose(0, 1)
        for column in (EXIT_BAR, SIDE)
    )
    r = lists.figures[:, :, R].view(-1, room, capacity).transpose(0, 1)
    columns = (trades.ends, ends), (trades.r, r), (trades.short_r, r.where(sides < 0, 0.0))
    for of_all, of_series in columns:
        of_all.view(room, -1, capacity).index_copy_(1, places, of_series)


def upload_order_prices(bars: Bars, device: torch.device) -> OrderPrices:
    """The prices of a series on a device.

    Raises:
        DeviceError: When its bars, or its finer bars, are too many.
    """
    finer, finer_of = build_finer(bars)
    if max(len(bars), finer.shape[1]) >= MOST_BARS:
        raise DeviceError(f"{max(len(bars), finer.shape[1]):,} bars are too many for one device")
    here = build_extremes(bars.open, bars.high, bars.low, bars.close)
    there = Extremes(to_device(here.bars, device), to_device(here.blocks, device))  # type: ignore[arg-type]
    spans = np.ascontiguousarray(finer_of, np.int32)
    return OrderPrices(there, to_device(finer, device), to_device(spans, device))


def launch_loop(
    loop: Callable[..., None], form: OrderForm, grid: tuple[int, int], *arguments: Any
) -> None:
    """Launch a loop of a form on the device; its last argument is its output."""
    device = arguments[-1].size.device
    if (kernel := _LOADED.get((loop, form, device.index))) is None:
        kernel = _LOADED[loop, form, device.index] = LoadedKernel(
            compile_device_loop(
                partial(build_loop, loop, form), loop.__module__, (loop.__name__, form), arguments,
                torch.cuda.get_device_capability(device),
            )
        )  # fmt: skip
    kernel.launch(grid, arguments)


_LOADED: dict[tuple[Callable[..., None], OrderForm, int], LoadedKernel] = {}


def move_up(numbers: torch.Tensor, count: int) -> torch.Tensor:
    """Numbers of conditions, where so many others stand before them; -1 for none."""
    return torch.where(numbers < 0, numbers, numbers + count)


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
