"""The account of all chains of trades: what a run makes of the bars that there are now."""

from collections.abc import Sequence
from dataclasses import dataclass

from data.bars import Bars, Window
from data.checks import Floats
from engine.accounts.ledger import Ledger
from engine.accounts.limits import build_limits
from engine.accounts.stake import Stake, build_stake
from engine.positions.standing import Standing
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from engine.standing_room import StandingStrand, find_holders
from optimizer.run.task import Task


@dataclass(frozen=True)
class TradeChain:
    """Closed bars of a symbol, and where its chain of trades begins."""

    symbol: str
    series: int  # its number
    bars: Bars
    start: int  # number of the first bar that may signal
    begins_with_run: bool
    left_out: int  # bars that have not closed by the clock
    # Parts before the last long gap, each with its first bar that may signal: nothing reaches over
    # a gap but the room of an account.
    earlier: tuple[tuple[Bars, int], ...] = ()


@dataclass(frozen=True, eq=False)
class TradedChain:
    """Trades on the bars of a chain."""

    ledger: Ledger
    entered_by: Floats | None  # [G] that entered the last trade; None without one of a schedule


@dataclass(frozen=True, eq=False)
class ChainAccount:
    """One account of all chains."""

    reference: Reference  # its windows are those of the chains, and of the parts before them
    windows: tuple[Window, ...]  # [C] of the chains

    def trade(self, genome: Floats) -> list[TradedChain]:
        """Trades of an individual [G] on each chain."""
        ledgers = self.reference.trades(genome)
        return [TradedChain(ledgers[window.series], genome) for window in self.windows]

    def find_standings(
        self, genome: Floats | None, traded: Sequence[TradedChain]
    ) -> list[Standing | None]:
        """How each chain stands [C]; None without trades and without genes that signal.

        Args:
            genome: [G], whose signals count now; None where no entry does.
            traded: [C].
        """
        standings: list[Standing | None] = []
        for window, made in zip(self.windows, traded, strict=True):
            signals_of = made.entered_by if genome is None else genome
            if signals_of is None:
                standings.append(None)
                continue
            reference, entered_by = self.reference, made.entered_by
            standing = reference.find_standing(signals_of, window, made.ledger, entered_by)
            if genome is None:
                standing = standing._replace(pending=None, orders=())
            standings.append(standing)
        return standings

    def find_holders(
        self,
        genome: Floats | None,
        traded: Sequence[TradedChain],
        standings: Sequence[Standing | None],
    ) -> list[tuple[int, ...] | None]:
        """Places of chains that hold the room which each one's entry needs; None where it has room.

        Arguments and result are those of `find_standings`.
        """
        if genome is None or not self.reference.costs.has_limits:
            return [None] * len(self.windows)
        strands = []
        for window, made, standing in zip(self.windows, traded, standings, strict=True):
            assert standing is not None, "genes that signal have a standing"
            asking = self.reference.ask_until(genome, window, window.end)
            entered_by = genome if made.entered_by is None else made.entered_by
            strands.append(StandingStrand(asking, made.ledger, self._stake(entered_by), standing))
        return find_holders(strands, build_limits(self.reference.costs))

    def _stake(self, genome: Floats) -> Stake:
        spec = self.reference.spec
        return build_stake(spec, self.reference.costs, spec.layout.decode(genome))


def build_account(task: Task, chains: Sequence[TradeChain]) -> ChainAccount:
    """The account of the chains of a task's symbols; each part of a series is one by itself."""
    series: list[Bars] = []
    starts: list[int] = []
    last: list[int] = []
    for chain in chains:
        earlier = chain.earlier if task.costs.has_limits else ()
        for bars, start in (*earlier, (chain.bars, chain.start)):
            series.append(bars)
            starts.append(start)
        last.append(len(series) - 1)
    pairs = zip(series, starts, strict=True)
    windows = [Window(number, start, len(bars)) for number, (bars, start) in enumerate(pairs)]
    reference = Reference(task.spec, series, windows, task.costs, form=CompiledForm())
    return ChainAccount(reference, tuple(windows[number] for number in last))
