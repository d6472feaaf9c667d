"""Interface of backends: the four stages behind one set of names, whatever the device."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

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


class Exits(NamedTuple):
    """The bracket and the costs as numbers; the first four are columns, not values."""

    stop_row: int  # row of the fast case that measures the stop's distance
    stop_mult: int  # gene
    reward: int  # gene
    max_hold: int  # gene
    per_side: float  # cost of a side as a fraction of notional
    min_risk: float  # fraction of the entry price
    risk_fraction: float  # fraction of equity per R
    delay: int  # bars by which an entry is later than the bar after its signal


class RowForm(NamedTuple):
    """Form of a row, without its parameters."""

    indicator: str  # form of the indicator, such as ``"sma"``
    source: str  # its source, such as ``"true_range"``


class RowRequest(NamedTuple):
    """Rows of one form to compute."""

    form: RowForm  # indicator and source
    parameters: Floats  # [n, L] of each row
    slots: Ints  # [n] where each row goes


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


class StretchedRows(NamedTuple):
    """Individuals, with rows that are not in slots."""

    genomes: Floats  # [P, G]
    n_rows: int  # I, distinct rows
    requests: Sequence[RowRequest]  # of these, each with its number in the place of a slot
    row_of: Ints  # [P, R] number of each row of the fast case


class Backend(ABC):
    """A device that holds series and rows, and evaluates chunks of a population.

    All methods are bit-equal between backends. Rows live in slots; a slot holds the same row of
    every series, because every individual meets every series.

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

    def fill(self, requests: Sequence[RowRequest]) -> None:
        """Compute rows of any forms into their slots, in every series."""
        raise EngineError("rows of this strategy are computed as they are read")

    @abstractmethod
    def begin(self, sent: Sent, slots: Slots | None) -> Callable[[], bool] | None:
        """Start to evaluate individuals whose rows are in slots [P, R].

        The returned call waits until `sent.out` is whole. Genomes and slots stay as they are until
        then. Only calls that have no waiter left may be forgotten.
        Without slots, where rows have some, the device looks rows up itself, and None leaves that
        to others: the call returns true if all genomes were legal and all their rows present;
        else `sent.out` means nothing. With slots it is true.
        """

    def evaluate_in_stretches(
        self, rows: StretchedRows, windows: Sequence[Window], out: Floats
    ) -> bool:
        """Evaluate into out [P, W, A] individuals whose rows do not fit the slots together.

        Rows are computed for a stretch of bars at a time, in the memory of the slots, which are
        all empty then. False, and nothing else, if the device cannot: the caller then sends
        parts of the population.
        """
        return False

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
    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window."""

    @abstractmethod
    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals, arguments as in `begin`."""

    @abstractmethod
    def list_results(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], times: Sequence[Ints]
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
        spec: Any,  # noqa: ANN401 - each maker takes a shape of its own
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int,
        work_bytes: int,
        threads: int | None = None,
    ) -> Backend:
        """Load series onto the device, with room for `capacity` slots."""

    def of_markets(
        self, spec: Strategy, series: Sequence[Bars], costs: Costs, apart: int
    ) -> "BackendMaker | None":
        """A maker of the same for series of several markets, `apart` of them each.

        Its backends have the rows of individuals in the market that they meet. None where it makes
        none of these series.
        """
