"""The CPU backend of accounts with limits: signals of all windows are listed, then answered."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.cpu.limiting import (
    COUNTED,
    Admitted,
    Asks,
    admit,
    collect_asks,
    find_leverages,
    fold_taken,
)
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.limits import AccountLimits, build_limits, check_limits, parse_rank
from engine.accounts.results import Results, arrange_results, join_results, split_accounts
from engine.accounts.stake import Stake
from engine.accounts.strategy_stakes import build_stakes
from engine.backend import Sent, by_series
from engine.cpu.backend import CpuBackend
from engine.errors import EngineError
from engine.population import lower_parts, take_number
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints
from strategy.model import Strategy


class SeriesSignals(NamedTuple):
    """Signals [k] of individuals [P] in some windows of one series."""

    windows: Ints  # [w] their numbers
    trades: Ledger  # individual after individual, window after window
    counts: Ints  # [P, w]
    asks: Asks
    exit_ns: Ints  # when the exit bar opens


class ListedSignals(NamedTuple):
    """Signals [K] of individuals [P] in all windows [W]."""

    trades: Ledger
    asks: Asks
    exit_ns: Ints
    firsts: Ints  # [P, W] place of each one's first signal in each window
    counts: Ints  # [P, W] how many there are

    def arrange(self, answers: Admitted) -> Results:
        """Results of taken signals."""
        chosen, counts = self._choose(answers)
        trades = self.trades
        return arrange_results(counts, self.exit_ns[chosen], trades.r[chosen], trades.side[chosen])

    def cut(self, answers: Admitted) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each individual."""
        chosen, counts = self._choose(answers)
        columns: Any = {name: column[chosen] for name, column in self.trades.columns().items()}
        columns["gross"] = answers.gross[chosen][:, None]
        nothing = np.zeros_like(counts)
        rejected, skipped, coarse = np.moveaxis(answers.counts, 2, 0)
        return Ledger(**columns).cut(counts, rejected, nothing, nothing, coarse, skipped)

    def _choose(self, answers: Admitted) -> tuple[Ints, Ints]:
        """Places of taken signals, window after window, and their number [P, W]."""
        signals = list_places(self.firsts, self.counts)
        taken = np.pad(answers.taken.cumsum(), (1, 0))
        before, until = taken[self.firsts], taken[self.firsts + self.counts]
        return signals[answers.taken[signals]], until - before


def list_places(firsts: Ints, counts: Ints) -> Ints:
    """Places of all signals, individual after individual and window after window.

    >>> list_places(np.array([[4, 0]]), np.array([[2, 3]])).tolist()
    [4, 5, 0, 1, 2]
    """
    flat = counts.ravel()
    ends: Ints = flat.cumsum()
    shifts = firsts.ravel() - (ends - flat)
    signals: Ints = np.arange(flat.sum())
    signals += np.repeat(shifts, flat)
    return signals


def join_signals(parts: Iterable[SeriesSignals], n_windows: int) -> ListedSignals:
    """Signals of all series as one."""
    listed = list(parts)
    firsts = np.zeros((len(listed[0].counts), n_windows), np.int64)
    counts = np.zeros_like(firsts)
    begin = 0
    for part in listed:
        ends = part.counts.cumsum().reshape(part.counts.shape)
        firsts[:, part.windows], counts[:, part.windows] = begin + ends - part.counts, part.counts
        begin += len(part.exit_ns)
    columns = [part.trades.columns() for part in listed]
    trades: Any = {
        name: np.concatenate([column[name] for column in columns]) for name in columns[0]
    }
    joined: Any = map(np.concatenate, zip(*(part.asks for part in listed), strict=True))
    exit_ns = np.concatenate([part.exit_ns for part in listed])
    return ListedSignals(Ledger(**trades), Asks(*joined), exit_ns, firsts, counts)


def admit_accounts(
    asks: Asks,
    spans: tuple[Ints, Ints],
    windows: Sequence[Window],
    limits: AccountLimits,
    threads: Threads,
) -> Admitted:
    """Answers of each individual's account; held-out windows are another account.

    `spans` [P, W] are places of first signals, and how many there are.
    """
    firsts, counts = spans
    taken, gross = np.zeros(len(asks.rank), np.bool_), np.zeros(len(asks.rank))
    counted = np.zeros((*counts.shape, len(COUNTED)), np.int64)
    for some in split_accounts(windows):
        order = sorted(some, key=lambda number: (windows[number].series, windows[number].start))
        signals = list_places(firsts[:, order], counts[:, order])
        columns: Any = [column[signals] for column in asks]
        begins = np.flatnonzero(np.diff([windows[number].series for number in order], prepend=-1))
        # Signals before each strand's first window, and all, of each individual.
        before = np.pad(counts[:, order].cumsum(axis=1), ((0, 0), (1, 0)))
        # In the order of others: for another one loops would be compiled once more.
        strands = before.take([*begins, len(order)], axis=1)
        strands += np.pad(before[:-1, -1].cumsum(), (1, 0))[:, None]
        part = admit(Asks(*columns), strands, limits, len(windows), threads)
        taken[signals], gross[signals] = part.taken, part.gross
        counted += part.counts
    return Admitted(taken, gross, asks.leverage, counted)


def admit_together(
    components: Sequence[ListedSignals], windows: Sequence[Window], limits: AccountLimits
) -> list[tuple[Ledger, ...]]:
    """Ledgers [W] of each of some components, each one individual, in one account.

    `windows` are those of all components, one behind another's; series are strands.
    """
    places = np.cumsum([0, *(part.counts.shape[1] for part in components)]).tolist()
    begins = np.cumsum([0, *(len(part.exit_ns) for part in components)]).tolist()
    asks, firsts = [], []
    for part, place, begin in zip(components, places, begins, strict=False):
        asks.append(part.asks._replace(window=part.asks.window + place))
        firsts.append(part.firsts + begin)
    joined: Any = map(np.concatenate, zip(*asks, strict=True))
    spans = np.hstack(firsts), np.hstack([part.counts for part in components])
    taken, gross, leverage, counts = admit_accounts(
        Asks(*joined), spans, windows, limits, Threads(1)
    )
    ledgers: list[tuple[Ledger, ...]] = []
    for number, part in enumerate(components):
        own, here = (slice(*ends[number : number + 2]) for ends in (begins, places))
        ledgers += part.cut(Admitted(taken[own], gross[own], leverage[own], counts[:, here]))
    return ledgers


FEWEST, MOST, MOST_SIGNALS = 32, 256, 2**20
"""Individuals with all signals held at once: the first ones, and then so many that their signals
are about that many, some 250 MB."""


class LimitedBackend(CpuBackend):
    """Evaluates populations on CPU cores; all windows of a call are one account with limits.

    A trade's result hangs on its signal alone. So each series lists all its signals,
    and one chain an individual over these lists picks the signals with room in its account;
    both on all threads.

    Arguments and errors are those of `CpuBackend`.

    Raises:
        EngineError: When the strategy has a part that limits do not cover.
    """

    keeps_limits = True

    def __init__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        costs: Costs,
        *,
        work_bytes: int,
        threads: int | None = None,
    ) -> None:
        check_limits(spec, costs)
        super().__init__(spec, series, costs, work_bytes=work_bytes, threads=threads)
        self._spec, self._series, self._costs = spec, tuple(series), costs
        self._cooldown = lower_parts(spec)[0]["cooldown"]
        rank = parse_rank(costs)
        self._ranks = None if rank is None else [rows.values(rank, {}) for rows in self._rows]

    def with_costs(self, costs: Costs) -> "LimitedBackend":
        """The same with other costs; rows serve both."""
        if not costs.has_limits or costs.rank != self._costs.rank:
            raise EngineError("an account with limits keeps them, whatever its costs are")
        other = super().with_costs(costs)
        assert isinstance(other, LimitedBackend)
        other._costs = costs
        return other

    def begin(self, sent: Sent) -> Callable[[], None]:
        """Evaluate; there is nothing left to wait for."""
        for part, signals, answers in self._take(sent.genomes, sent.windows):
            self._fold(sent.genomes[part], signals, answers, sent.out[part])
        return lambda: None

    def list_results(
        self, genomes: Floats, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results; made in one go."""
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))

        def of_parts() -> Iterator[tuple[Ints, Ints, Results]]:
            for part, signals, answers in self._take(genomes, windows):
                self._fold(genomes[part], signals, answers, out[part])
                members = np.arange(len(genomes))[part]
                yield members, np.arange(len(windows)), signals.arrange(answers)

        return out, join_results(of_parts(), len(genomes), len(windows))

    def ledgers(self, genomes: Floats, windows: Sequence[Window]) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals."""
        return [
            ledgers
            for _, signals, answers in self._take(genomes, windows)
            for ledgers in signals.cut(answers)
        ]

    def list_signals(
        self, genomes: Floats, windows: Sequence[Window], weight: float = 1.0
    ) -> ListedSignals:
        """All signals of individuals [P, G], of whose trades an account takes `weight`."""
        return join_signals(self._list_signals(genomes, windows, weight), len(windows))

    def _take(
        self, genomes: Floats, windows: Sequence[Window]
    ) -> Iterator[tuple[slice, ListedSignals, Admitted]]:
        """Signals of some individuals at a time, and what their accounts answer."""
        # Fewer where there is no room for the rows of more.
        most = min(MOST, self._together)
        limits, begin, size = build_limits(self._costs), 0, min(FEWEST, most)
        while begin < len(genomes):
            part = slice(begin, begin + size)
            signals = self.list_signals(genomes[part], windows)
            spans = signals.firsts, signals.counts
            yield part, signals, admit_accounts(signals.asks, spans, windows, limits, self._workers)
            begin += size
            each = len(signals.exit_ns) // size + 1
            size = min(most, max(FEWEST, MOST_SIGNALS // each))

    def _list_signals(
        self, genomes: Floats, windows: Sequence[Window], weight: float
    ) -> Iterator[SeriesSignals]:
        """All signals of individuals, whatever came before them, series after series."""
        stakes, cooldowns = self._build_stakes(genomes), self._cooldowns(genomes)
        shares = np.array([stake.number * weight for stake in stakes])
        for number, window_numbers, ranges in by_series(windows):
            bars = self._series[number]
            trades, counts, coarse = self._markets[number].list_signals(genomes, ranges)
            each = counts.sum(axis=1)
            asks = collect_asks(
                trades,
                bars,
                np.repeat(cooldowns, each),
                find_leverages(trades, stakes[0], np.repeat(shares, each)),
                None if self._ranks is None else self._ranks[number],
                np.repeat(np.tile(window_numbers, len(genomes)), counts.ravel()),
                coarse,
            )
            exit_ns = bars.timestamp[trades.exit_bar]
            yield SeriesSignals(window_numbers, trades, counts, asks, exit_ns)

    def _fold(
        self, genomes: Floats, signals: ListedSignals, answers: Admitted, out: Floats
    ) -> None:
        """Fold taken signals into out [P, W, A]."""
        spans, stakes = (signals.firsts, signals.counts), self._build_stakes(genomes)
        fold_taken(signals.trades, spans, answers, stakes, self._workers, out)

    def _build_stakes(self, genomes: Floats) -> list[Stake]:
        return build_stakes(self._spec, self._costs, genomes)

    def _cooldowns(self, genomes: Floats) -> Ints:
        """Bars [P] after a stop in which no signal counts."""
        return take_number(self._cooldown, self._spec.layout, genomes).astype(np.int64)
