"""The CPU backend of accounts with limits: signals of all windows are listed, then answered."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.cpu.counting import fold_taken
from engine.accounts.cpu.limiting import Admitted, AskedWindow, collect_asks, find_leverages
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.limits import build_limits, check_limits, parse_rank
from engine.accounts.results import Results, join_results
from engine.accounts.stake import Stake
from engine.accounts.strategy_stakes import build_stakes
from engine.backend import Sent, by_series
from engine.cpu.backend import CpuBackend
from engine.cpu.listed_signals import ListedSignals, SeriesSignals, join_signals
from engine.errors import EngineError
from engine.population import lower_parts, take_number
from engine.runtime.cpu.types import Floats, Ints
from strategy.model import Strategy

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

    def list_asks(
        self, genome: Floats, windows: Sequence[Window], strand: int = 0, weight: float = 1.0
    ) -> list[AskedWindow]:
        """All signals [W] of an individual [G]; series are strands from a number on.

        An account takes `weight` of each trade.
        """
        (stake,), (cooldown,) = self._build_stakes(genome[None]), self._cooldowns(genome[None])
        by_window: dict[int, AskedWindow] = {}
        for number, window_numbers, ranges in by_series(windows):
            trades, counts, coarse = self._markets[number].list_signals(genome[None], ranges)
            parts = np.split(coarse, counts[0].cumsum()[:-1])
            (ledgers,) = trades.cut(counts)
            for w, ledger, part in zip(window_numbers.tolist(), ledgers, parts, strict=True):
                by_window[w] = AskedWindow(
                    ledger,
                    windows[w],
                    strand + number,
                    self._series[number],
                    None if self._ranks is None else self._ranks[number],
                    int(cooldown),
                    stake,
                    part,
                    weight,
                )
        return [by_window[w] for w in range(len(windows))]

    def _take(
        self, genomes: Floats, windows: Sequence[Window]
    ) -> Iterator[tuple[slice, ListedSignals, Admitted]]:
        """Signals of some individuals at a time, and what their accounts answer."""
        # Fewer where there is no room for the rows of more.
        most = min(MOST, self._together)
        limits, begin, size = build_limits(self._costs), 0, min(FEWEST, most)
        while begin < len(genomes):
            part = slice(begin, begin + size)
            listed = self._list_signals(genomes[part], windows)
            signals = join_signals(listed, len(windows))
            yield part, signals, signals.admit(windows, limits, self._workers)
            begin += size
            each = len(signals.exit_ns) // size + 1
            size = min(most, max(FEWEST, MOST_SIGNALS // each))

    def _list_signals(self, genomes: Floats, windows: Sequence[Window]) -> Iterator[SeriesSignals]:
        """All signals of individuals, whatever came before them, series after series."""
        stakes, cooldowns = self._build_stakes(genomes), self._cooldowns(genomes)
        shares = np.array([stake.number for stake in stakes])
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
