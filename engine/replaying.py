"""The reference on several processes, each with its share of individuals, all ending with ours.

They may be started long before there is anything to replay: they import what they need and wait.
Each computes every row that its individuals read once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.costs import Costs
from engine.errors import EngineError
from engine.ledger import ACCUMULATORS
from engine.plain import ledgers_of, plain_bars, plain_spec, plain_windows
from engine.process import Process, module_command
from engine.reference import Reference, Replayed
from engine.wire import ClosedError, Frame
from strategy.genes import Floats
from strategy.spec import StrategySpec

ROW_COST = 6
"""A row costs about as much as so many individuals whose rows are there; it only shares out work.

Measured on the sample, 796 members of a front: 7.7 ms a row and 1.2 ms an individual.
"""

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Market:
    """What the reference replays on.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number.
        windows: Each an independent backtest.
        costs: Costs and risk rules.
    """

    spec: StrategySpec
    series: Sequence[Bars]
    windows: Sequence[Window]
    costs: Costs


class Replayers:
    """Processes that replay individuals; none until some are asked for.

    Use it as a context manager: who leaves it ends the processes that are still at work.
    """

    def __init__(self) -> None:
        self._processes: list[Process] = []

    def __enter__(self) -> "Replayers":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.end()

    def stand_by(self, processes: int) -> None:
        """Start so many processes, less those that were started before; returns at once."""
        while len(self._processes) < processes:
            self._processes.append(Process(module_command("engine.replayer")))

    def replay(self, market: Market, genomes: Floats, processes: int) -> Iterator[Replayed]:
        """Replay individuals while the caller does something else.

        Args:
            market: What to replay on.
            genomes: [N, G].
            processes: How many to share the work; with 1 the caller's own does it, as it is asked.

        Returns:
            What the reference says of each individual, in order.

        Raises:
            EngineError: From the iterator, when a process failed or was ended from outside.
        """
        if processes == 1:
            return Reference(market.spec, market.series, market.windows, market.costs).replay(
                genomes
            )
        shares = share_out(market.spec, genomes, processes)
        self.stand_by(len(shares))
        told = _told(market)
        for process, share in zip(self._processes, shares, strict=False):
            try:
                process.send(told)
                process.send(Frame("replay", {}, [genomes[share]]))
            except ClosedError:
                raise _ended_outside() from None
        return self._in_order(shares, len(market.windows))

    def end(self) -> None:
        """End all processes, whatever they are doing."""
        for process in self._processes:
            process.end()
        self._processes = []

    def _in_order(self, shares: Sequence[Indices], n_windows: int) -> Iterator[Replayed]:
        found: dict[int, Replayed] = {}
        for share, process in zip(shares, self._processes, strict=False):
            try:
                answer = process.receive()
            except ClosedError:
                raise _ended_outside() from None
            if answer.kind != "done":
                raise EngineError(f"replaying individuals failed\n{answer.told['why']}")
            found.update(zip(share.tolist(), _replayed(answer, n_windows), strict=True))
        yield from (found[i] for i in range(len(found)))


def share_out(spec: StrategySpec, genomes: Floats, shares: int) -> list[Indices]:
    """Split individuals so that those with common rows stay together and all parts cost alike.

    Args:
        spec: The strategy, which says what rows an individual reads.
        genomes: [N, G].
        shares: How many parts, at least 1.

    Returns:
        Indices [n] of each part that is not empty; each individual is in one of them.
    """
    readers = {name: sum(name in row.lengths for row in spec.rows) for name in spec.layout.names}
    place = {name: column for column, name in enumerate(spec.layout.names)}
    lengths = sorted((name for name in readers if readers[name]), key=lambda name: -readers[name])
    order = np.arange(len(genomes))
    if lengths:
        order = np.lexsort([genomes[:, place[name]] for name in reversed(lengths)])
    seen: set[tuple[object, ...]] = set()
    costs = np.ones(len(genomes))
    for k, i in enumerate(order):
        rows = {
            (row.indicator, row.reads, *(genomes[i, place[name]] for name in row.lengths))
            for row in spec.rows
        }
        costs[k] += ROW_COST * len(rows - seen)
        seen |= rows
    done = np.cumsum(costs)
    cuts = np.searchsorted(done, costs.sum() * np.arange(1, shares) / shares)
    return [part for part in np.split(order, cuts) if len(part)]


def _told(market: Market) -> Frame:
    """A market as a frame."""
    series, arrays = plain_bars(market.series)
    told = {
        "spec": plain_spec(market.spec),
        "series": series,
        "windows": plain_windows(market.windows),
        "costs": asdict(market.costs),
    }
    return Frame("market", told, arrays)


def _replayed(answer: Frame, n_windows: int) -> list[Replayed]:
    """What a process answered, individual by individual."""
    folded, *ledgers = answer.arrays
    accumulators = folded.view(np.float64).reshape(-1, len(ACCUMULATORS)).tolist()
    pairs = list(zip(ledgers_of(ledgers), accumulators, strict=True))
    return [pairs[i : i + n_windows] for i in range(0, len(pairs), n_windows)]


def _ended_outside() -> EngineError:
    return EngineError("a process that replayed individuals was ended from outside")
