"""Inputs of a strategy with orders, ladders or money on one series, for a population."""

from typing import NamedTuple

import numpy as np
import torch

from data.bars import Bars
from engine.conditions.cuda.operands import Arrays, DevicePart, DevicePopulation, Rooms
from engine.conditions.cuda.specialization import Comparing
from engine.cuda.batch_inputs import LaidOut, SentInputs, SeriesInputs, Setting
from engine.indicators.cuda.device_rows import DeviceRows
from engine.indicators.individuals import Individuals, list_gene_columns
from engine.population import CarriedRows
from engine.positions.encode import (
    Lowered,
    form_of_exit,
    form_of_order,
    form_of_slippage,
    list_bounds,
    lower_exits,
    lower_targets,
)
from engine.positions.exit_spec import DAY_NS, NONE
from engine.runtime.cuda.graphs import bucket
from engine.runtime.cuda.uploads import Uploads
from strategy.exits import split_sides
from strategy.model import Strategy
from strategy.money import Volatility
from strategy.nodes import Node


class OrderBatch(NamedTuple):
    """Inputs of a batch on one series that all its individuals share, as `walk_kernel` has them."""

    longs: torch.Tensor  # [n, N] int64 conditions of entries, 64 bars a word
    shorts: torch.Tensor  # likewise
    leaves: torch.Tensor  # [n, N] conditions of exits of both sides
    cancels: torch.Tensor  # [n, N] conditions that end orders
    sessions: torch.Tensor  # [q, T] int32
    days: torch.Tensor  # [T] int32
    forms: torch.Tensor  # [parts, 2] int32
    reads: torch.Tensor  # [parts, 2, 2] int32
    code: torch.Tensor  # instructions of all formulas, int32
    constants: torch.Tensor  # numbers that they read
    rows: torch.Tensor  # [slots, T]
    carried: torch.Tensor  # [n, T]


class OrderIndividuals(NamedTuple):
    """Inputs of each individual, [P, ...]."""

    size: torch.Tensor  # [1] int32, how many there are; there may be room for more
    entries: torch.Tensor  # [P, 2] int32
    exits: torch.Tensor  # [P, 2] int32
    cancels: torch.Tensor  # [P, 2] int32
    slots: torch.Tensor  # [P, R] int32
    genomes: torch.Tensor  # [P, G]
    numbers: torch.Tensor  # [P, 25 + 4 L] as `order_fills` counts them
    carried_of: torch.Tensor  # [P, 5] int32
    bars: torch.Tensor  # [P, 3] int32
    session_of: torch.Tensor  # [P] int32


class OrderInputs(SeriesInputs):
    """One series, and what individuals ask of it; arguments as of `SeriesInputs`.

    `risk_fraction` is what R is worth, of equity, where no account sets it.
    """

    per_individual = (*SeriesInputs.per_individual, "carried_of", "cancels")

    def __init__(
        self,
        spec: Strategy,
        bars: Bars,
        rows: DeviceRows,
        delay: int,
        device: torch.device,
        comparing: Comparing,
        uploads: Uploads,
        *,
        risk_fraction: float,
    ) -> None:
        self._risk_fraction = risk_fraction
        super().__init__(spec, bars, rows, delay, device, comparing, uploads)
        self._carried = CarriedRows(rows.host, bars, spec.layout)
        self._charges = [*split_sides(spec.slippage), *split_sides(spec.borrow), spec.funding]
        days = np.zeros(1, np.int64)
        if spec.session is not None:
            days = spec.session.local_time(bars.timestamp) // DAY_NS
        self._days = self._there(days)

    def most_individuals(self, work_bytes: int) -> int:
        """Individuals whose conditions, and rows of their own, fit so much memory together."""
        varying = [
            charge
            for charge in self._charges
            if isinstance(charge, Node) and list_gene_columns(charge, self._spec.layout)
        ]
        fewest = work_bytes // (8 * self._readings.n_bars * max(len(varying), 1))
        most = super().most_individuals(work_bytes)
        return max(1, min(most, fewest)) if varying else most

    def send(self, laid_out: LaidOut) -> SentInputs:
        """Inputs of individuals, on the device; nothing waits for the host."""
        self._readings.forget()
        seen = DevicePopulation(laid_out.individuals, self._uploads.send(laid_out.plan))
        there = seen.there
        each = OrderIndividuals(
            there["size"], there["entries"], there["exits"], there["cancels"], there["slots"],
            there["genomes"], there["genomes"].index_select(1, self._settings),
            there["carried_of"], there["bars"], there["session_of"],
        )  # fmt: skip
        longs, shorts = (self._words(part, seen) for part in self._entries)
        leaves, cancels = (
            self._join_words(parts, seen) for parts in (self._exits, self._list_cancels())
        )
        self._readings.forget()
        batch = OrderBatch(longs, shorts, leaves, cancels, self._sessions.values, self._days,
                           self._shapes, self._reads, *self._formulas, self._readings.rows,
                           there["carried"])  # fmt: skip
        return SentInputs(batch, each, there["windows"], there["table"])

    def _arrays(self, individuals: Individuals) -> tuple[Arrays, Rooms] | None:
        """As `SeriesInputs`, with what is carried and what ends orders."""
        known = super()._arrays(individuals)
        if known is None:
            return None
        arrays, rooms = known
        carried, carried_of = self._carried.find(self._charges, individuals.here)
        arrays["carried"] = carried if len(carried) else np.zeros((1, 1))
        arrays["carried_of"] = carried_of.astype(np.int32)
        cancels = self._choices(self._list_cancels(), individuals, behind=True)
        # One condition of both sides stands there once.
        is_one = len(self._list_cancels()) == 1
        arrays["cancels"] = np.ascontiguousarray(cancels[:, [0, 0]] if is_one else cancels)
        if individuals.has_room:
            rooms["carried"] = bucket(len(arrays["carried"]))
        return arrays, rooms

    def _list_cancels(self) -> list[DevicePart | None]:
        """Conditions that end orders, of longs and of shorts; one where they are the same."""
        long, short = self._spec.cancels
        return self._cancels[:1] if long == short else self._cancels

    def _list_parts(self) -> tuple[list[list[Lowered]], list[Setting]]:
        """Stop, trail, order, size, slippage and targets, and numbers in the order of a kernel's.

        See `engine.positions.cuda.order_fills`.
        """
        spec = self._spec
        entries, targets = split_sides(spec.entry), lower_targets(spec)
        (stops, _, trails), after = lower_exits(spec)
        account, none = spec.account, Lowered(NONE)
        size = none
        stake: Setting = (None, self._risk_fraction)
        leverage: Setting = (None, np.inf)
        if account is not None:
            stake = next(setting for _, setting in account.stake.settings), 0.0
            leverage = account.leverage, np.inf
            if isinstance(account.stake, Volatility):
                size = Lowered(NONE, account.stake.row)
        orders = [form_of_order(order) for order in entries]
        slips = [form_of_slippage(slippage) for slippage in split_sides(spec.slippage)]
        legs = [
            [side[leg] if leg < len(side) else (none, None) for side in targets]
            for leg in range(max(map(len, targets)))
        ]
        forms = [stops, trails, orders, [size, size], slips]
        forms += [[target for target, _ in pair] for pair in legs]
        pairs = [
            [side.number for side in stops],
            [side.number for side in trails],
            after,
            [getattr(order, "expires", None) for order in entries],
            [getattr(order, "through", None) for order in entries],
            [slip.number for slip in slips],
        ]
        settings = [(setting, 0.0) for pair in pairs for setting in pair]
        settings += [(spec.break_even, np.nan), stake, leverage, (spec.cooldown, 0.0)]
        settings.append((form_of_exit(spec.even_offset).number, 0.0))
        settings += list_bounds(spec)
        for pair in legs:
            settings += [(target.number, 0.0) for target, _ in pair]
            settings += [(share, 0.0) for _, share in pair]
        return forms, settings
