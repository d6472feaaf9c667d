"""The CPU backend of accounts with limits: signals of all windows are listed, then answered."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.cpu.counting import fold_ledger
from engine.accounts.cpu.limiting import AskedWindow, find_leverages, take_account
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.limits import build_limits, check_limits, parse_rank
from engine.accounts.results import Results, arrange_results, split_accounts
from engine.accounts.stake import Stake, build_stake
from engine.cpu.language import LanguageBackend
from engine.errors import EngineError
from engine.runtime.cpu.types import Floats, Ints, Slots
from strategy.model import Strategy
from strategy.rows import resolve_value

TOGETHER = 32
"""Individuals all of whose signals are held at once."""


class LimitedBackend(LanguageBackend):
    """Evaluates populations on CPU cores; all windows of a call are one account with limits.

    What a signal's trade comes to hangs on the signal alone. So each series lists all its signals,
    on all threads, and one chain over these lists says which of them the account has room for.

    Arguments and errors are those of `LanguageBackend`.

    Raises:
        EngineError: When the strategy has what limits are not told of.
    """

    keeps_limits = True

    def __init__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int = 0,
        work_bytes: int,
        threads: int | None = None,
    ) -> None:
        check_limits(spec, costs, series)
        super().__init__(
            spec, series, costs, capacity=capacity, work_bytes=work_bytes, threads=threads
        )
        self._spec, self._series, self._costs = spec, tuple(series), costs
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

    def begin(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], out: Floats
    ) -> Callable[[], None]:
        """Evaluate into out [P, W, A]; there is nothing left to wait for."""
        for p, (ledgers, stake) in enumerate(self._take(genomes, windows)):
            out[p] = _fold_all(ledgers, stake)
        return lambda: None

    def list_results(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators and results; made in one go."""
        out = np.empty((len(genomes), len(windows), len(ACCUMULATORS)))
        listed: list[Ledger] = []
        for p, (ledgers, stake) in enumerate(self._take(genomes, windows)):
            out[p] = _fold_all(ledgers, stake)
            listed += ledgers
        counts = np.array([len(ledger) for ledger in listed]).reshape(len(genomes), len(windows))
        opened = [times[window.series] for window in windows] * len(genomes)
        columns = [
            (own[ledger.exit_bar], ledger.r, ledger.side)
            for own, ledger in zip(opened, listed, strict=True)
        ]
        empty = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int8)
        results = map(np.concatenate, zip(empty, *columns, strict=True))
        return out, arrange_results(counts, *results)

    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals."""
        return [ledgers for ledgers, _ in self._take(genomes, windows)]

    def _take(
        self, genomes: Floats, windows: Sequence[Window]
    ) -> Iterator[tuple[tuple[Ledger, ...], Stake]]:
        """Ledgers [W] of each individual, and how its trades are sized."""
        limits, accounts = build_limits(self._costs), split_accounts(windows)
        order = np.argsort([place for some in accounts for place in some]).tolist()
        for asked in self.list_asks(genomes, windows):
            taken = (take_account([asked[place] for place in some], limits) for some in accounts)
            ledgers = list(chain.from_iterable(taken))
            yield tuple(ledgers[number] for number in order), asked[0].stake

    def list_asks(
        self, genomes: Floats, windows: Sequence[Window], strand: int = 0, weight: float = 1.0
    ) -> Iterator[list[AskedWindow]]:
        """All signals [W] of each individual; series are strands from a number on.

        An account takes `weight` of each trade.
        """
        spec, ranks = self._spec, self._ranks
        for begin in range(0, len(genomes), TOGETHER):
            part = genomes[begin : begin + TOGETHER]
            for genome, ledgers in zip(part, self._list_signals(part, windows), strict=True):
                genes = spec.layout.decode(genome)
                bars = 0 if spec.cooldown is None else int(resolve_value(spec.cooldown, genes))
                sizing = bars, build_stake(spec, self._costs, genes), weight
                yield [
                    AskedWindow(
                        ledger,
                        window,
                        strand + window.series,
                        self._series[window.series],
                        None if ranks is None else ranks[window.series],
                        *sizing,
                    )
                    for ledger, window in zip(ledgers, windows, strict=True)
                ]

    def _list_signals(self, genomes: Floats, windows: Sequence[Window]) -> list[tuple[Ledger, ...]]:
        """All signals [W] of each individual, whatever came before them."""
        return self._list_by_window(
            windows, lambda number, ranges: self._markets[number].list_signals(genomes, ranges)
        )


def _fold_all(ledgers: Sequence[Ledger], stake: Stake) -> list[Floats]:
    """Accumulators [A] of each window of one account."""
    return [fold_ledger(ledger, stake, find_leverages(ledger, stake)) for ledger in ledgers]
