"""Interface of backends: one set of names, whatever the device."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import Ledger
from engine.accounts.results import Results
from engine.errors import EngineError
from engine.memory_plan import MemoryTaker
from strategy.model import Strategy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int32]


class Sent(NamedTuple):
    """Individuals sent to a device at once, and room for the answer."""

    genomes: Floats  # [P, G]
    windows: Sequence[Window]
    own: Slots | None  # [P, W] numbers of the windows that each meets; None where all meet all
    out: Floats  # [P, W, A]
    account: Floats | None = None  # [P, A] of all windows as one account, if wanted

    def of(self, part: slice | Ints) -> "Sent":
        """Some of the individuals."""
        own = None if self.own is None else self.own[part]
        account = None if self.account is None else self.account[part]
        return Sent(self.genomes[part], self.windows, own, self.out[part], account)


class Backend(ABC):
    """A device that holds series and rows, and evaluates chunks of a population.

    All methods are bit-equal between backends.

    Attributes:
        name: Of the backend.
        threads: Cores that it uses.
        meets_own: Whether individuals may meet windows of their own.
        folds_accounts: Whether it folds several windows as one account.
    """

    name: str
    threads: int
    meets_own = False
    folds_accounts = False

    @abstractmethod
    def begin(self, sent: Sent) -> Callable[[], None]:
        """Start to evaluate individuals.

        The returned call waits until `sent.out` is whole. Genomes stay as they are until then. Only
        calls that have no waiter left may be forgotten.
        """

    @classmethod
    def of_markets(
        cls, spec: Strategy, series: Sequence[Bars], costs: Costs, apart: int
    ) -> "BackendMaker | None":
        """See `BackendMaker.of_markets`: none."""
        return None

    def with_costs(self, costs: Costs) -> "Backend":
        """The same with other costs, where rows can serve both."""
        raise EngineError(f"{self.name} cannot change the costs of finished rows; use cpu")

    @abstractmethod
    def signals(self, genome: Floats, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window."""

    @abstractmethod
    def ledgers(self, genomes: Floats, windows: Sequence[Window]) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals."""

    @abstractmethod
    def list_results(
        self, genomes: Floats, windows: Sequence[Window], times: Sequence[Ints]
    ) -> tuple[Floats, Results]:
        """Accumulators [P, W, A], and the results of the trades that they count.

        `times` say when the bars of each series open.
        """


def iter_parts(count: int, step: int) -> Iterator[Ints]:
    """Numbers below a count, so many at a time."""
    for begin in range(0, count, step):
        yield np.arange(begin, min(begin + step, count))


def by_series(windows: Sequence[Window]) -> Iterator[tuple[int, Ints, Ints]]:
    """Each series that has windows: its number, and their places and ranges.

    Places are [n] among all windows, ranges [n, 2] are start and end.
    """
    of_series = np.array([window.series for window in windows])
    for number in np.unique(of_series).tolist():
        (numbers,) = np.nonzero(of_series == number)
        ranges = [
            (windows[window_number].start, windows[window_number].end)
            for window_number in numbers.tolist()
        ]
        yield number, numbers, np.array(ranges, np.int64)


class BackendMaker(MemoryTaker, Protocol):
    """Maker of a backend: its class.

    Attributes:
        meets_own: As of the backends that it makes.
    """

    meets_own: bool

    def __call__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        costs: Costs,
        *,
        work_bytes: int,
        threads: int | None = None,
    ) -> Backend:
        """Load series onto the device."""

    def of_markets(
        self, spec: Strategy, series: Sequence[Bars], costs: Costs, apart: int
    ) -> "BackendMaker | None":
        """A maker of the same for series of several markets, `apart` of them each.

        Its backends have the rows of individuals in the market that they meet. None where it makes
        none of these series.
        """
