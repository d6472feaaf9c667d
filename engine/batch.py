"""The batch engine: whole populations in, accumulators out, on whatever device was chosen."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import chain

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.cpu.joint import fold_account, fold_joint_money
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, order_windows, split_accounts
from engine.accounts.strategy_stakes import build_stakes
from engine.backend import Ints, Sent, Slots, iter_parts
from engine.devices import Device, settle_device
from engine.errors import EngineError
from engine.indicators.individuals import count_rows
from engine.memory_plan import MOST_ROWS, MemoryPlan, plan_memory
from engine.runtime.cpu.threads import Threads
from engine.validate import (
    GenomeValidator,
    check_chunk,
    check_keeps_limits,
    check_windows,
    require_genomes,
)
from strategy.genes import Floats
from strategy.model import Strategy

ACCOUNT_PAIRS = 32_768  # results held at once for one account: about 300 MB

MOST_KEPT, LISTED_PAIRS = 64, 256
"""Engines of other windows that are kept, and pairs with ledgers listed at once."""

PART_INDIVIDUALS = 16_384
"""Individuals that are handed to a device at a time: while it works on a part, the next one is
looked up."""

PART_PAIRS = 131_072  # that are handed over at a time, where windows are many: results of 25 MB

Wait = Callable[[], Floats]
"""Waits for begun work, and returns its accumulators."""


class Engine:
    """Evaluates populations on series of bars; the rows it computes stay for the next call.

    Args:
        spec: The strategy.
        series: Bars that windows refer to by number, at least one.
        windows: Each an independent backtest, at least one.
        costs: Costs and risk rules.
        device: ``"auto"``, or the name of a device, which then runs or raises: see
            `engine.devices.choose_backend`; or one that `choose_device` chose.
        threads: Cores of the CPU backend; all when None.
        memory_bytes: Most that rows and what a device needs beside them may take, on each device;
            half of what is free on a host, and 0.65 of it on a GPU, when None.
        chunk: Most individuals that are evaluated together; all that fit when None. It changes
            no bit of any result.

    Raises:
        EngineError: When series, windows or chunk make no sense.
        MemoryPlanError: When one individual's rows alone do not fit `memory_bytes`.
        DeviceError: When the device is not there.

    >>> from data import Window, load_bars
    >>> from strategy import find_strategy
    >>> bars, spec = load_bars("sample"), find_strategy("seller_exhaustion")
    >>> engine = Engine(spec, [bars], [Window.whole(bars)])
    >>> engine.evaluate(spec.layout.defaults[None]).shape
    (1, 1, 32)
    """

    def __init__(
        self,
        spec: Strategy,
        series: Sequence[Bars],
        windows: Sequence[Window],
        costs: Costs | None = None,
        *,
        device: str | Device = "auto",
        threads: int | None = None,
        memory_bytes: int | None = None,
        chunk: int | None = None,
    ) -> None:
        check_windows(series, windows)
        check_chunk(chunk)
        chosen = settle_device(spec, device, costs)
        self.spec = spec
        self.series = tuple(series)
        self.windows = tuple(windows)
        self.costs = check_keeps_limits(chosen.maker, costs or Costs())
        self.device, self.device_reason, maker = chosen
        n_rows = count_rows(spec, MOST_ROWS)
        self._plan = plan_memory(maker, self.series, n_rows, memory_bytes)
        self._backend = maker(
            spec, self.series, self.costs, work_bytes=self._plan.work_bytes, threads=threads
        )
        self._validator = GenomeValidator(spec)
        self._chunk = chunk
        self._kept: dict[tuple[Window, ...], Engine] = {}

    n_parts = 1
    """In how many parts memory holds its series, one after the other."""

    @property
    def threads(self) -> int:
        """Cores that the device uses."""
        return self._backend.threads

    @cached_property
    def _merging(self) -> Threads:
        return Threads(self.threads)

    def on(self, windows: Sequence[Window]) -> "Engine":
        """The same engine for other windows [W] of its series: what either computes serves both.

        Raises:
            EngineError: When windows make no sense.
        """
        key = tuple(windows)
        if key not in self._kept:
            check_windows(self.series, key)
            if len(self._kept) == MOST_KEPT:
                self._kept.clear()
            other = self._kept[key] = copy(self)  # a device keeps graphs for its windows
            other.windows, other._kept = key, {}
        return self._kept[key]

    def shares(self) -> Iterator[tuple[Ints, "Engine"]]:
        """Places of windows among all, and an engine of these; here it is one of all windows.

        Let go of each before the next call: memory may hold no two of them.
        """
        yield np.arange(len(self.windows)), self

    def with_costs(self, costs: Costs) -> "Engine":
        """The same engine with other costs: rows that either computes serve both; on a CPU.

        Raises:
            EngineError: When the device cannot.
        """
        other = copy(self)
        other.costs, other._backend = costs, self._backend.with_costs(costs)
        other._kept = {}
        return other

    def memory_plan(self, individuals: int) -> MemoryPlan:
        """Memory plan of a population of so many individuals; its text is for people."""
        return replace(self._plan, individuals=individuals, n_windows=len(self.windows))

    @property
    def meets_own(self) -> bool:
        """True if individuals may meet windows of their own, all at once."""
        return self._backend.meets_own

    @property
    def folds_accounts(self) -> bool:
        """True if the device folds several windows as one account itself."""
        return self._backend.folds_accounts

    def evaluate(self, genomes: Floats) -> Floats:
        """Backtest every individual of genomes [P, G] in every window.

        Returns [P, W, A] accumulators, named by `ACCUMULATORS`, never NaN: the same bits for any
        order, chunk, number of threads, and whatever was evaluated before.

        Raises:
            GenomeError: When a genome is not legal; the message names the first.
        """
        return self.begin(genomes)()

    def begin(self, genomes: Floats) -> Wait:
        """Begin to evaluate, as `evaluate`; the returned call waits for the accumulators.

        It has to end before any other call of this engine.
        """
        return self._send(genomes)[0]

    def evaluate_pairs(self, genomes: Floats, pairs: Ints) -> Floats:
        """Accumulators [N, A] of pairs [N, 2]: numbers of an individual of [P, G] and of a window.

        Raises:
            EngineError: When a pair names no individual or no window.
            GenomeError: When a genome that is paired is not legal.
        """
        if not ((pairs >= 0) & (pairs < (len(genomes), len(self.windows)))).all():
            raise EngineError(
                f"a pair names an individual below {len(genomes)} and a window below "
                f"{len(self.windows)}"
            )
        if self.meets_own and not self.costs.has_limits:
            return self.evaluate_own(genomes[pairs[:, 0]], pairs[:, 1:].astype(np.int32))[:, 0]
        accumulators = np.empty((len(pairs), len(ACCUMULATORS)))
        for number in np.unique(pairs[:, 1]).tolist():
            (some,) = np.nonzero(pairs[:, 1] == number)
            engine = self.on([self.windows[number]])
            accumulators[some] = engine.evaluate(genomes[pairs[some, 0]])[:, 0]
        return accumulators

    def evaluate_own(self, genomes: Floats, own: Slots) -> Floats:
        """Accumulators [P, W, A] of individuals that meet windows of their own, where `meets_own`.

        `own` [P, W] are numbers of windows.
        """
        return self._send(genomes, own)[0]()

    def evaluate_account(self, genomes: Floats, own: Slots | None = None) -> tuple[Floats, Floats]:
        """The same accumulators, and those of all windows as one account [P, A].

        All trades are folded once, in the order in which their exit bars open; among those opening
        together the first series comes first. Trades that an account sizes from cash are sized when
        they are filled, and folded when they are over. One window is its own account. Individuals
        may meet windows of their own, `own` as of `evaluate_own`.
        """
        genomes = require_genomes(self.spec, genomes)
        n_windows = len(self.windows) if own is None else own.shape[1]
        if n_windows == 1:
            alone = self.evaluate(genomes) if own is None else self.evaluate_own(genomes, own)
            return alone, alone[:, 0]
        if self.spec.account is not None:
            return self._evaluate_money(genomes)
        folds = self.folds_accounts and not self._has_accounts_apart
        if folds or (own is not None and self.meets_own):
            wait, account = self._send(genomes, own, is_account=True)
            return wait(), account
        out = np.empty((len(genomes), n_windows, len(ACCUMULATORS)))
        account = np.empty((len(genomes), len(ACCUMULATORS)))
        step = min(max(1, ACCOUNT_PAIRS // n_windows), self._chunk or ACCOUNT_PAIRS)
        order = order_windows(self.windows)
        for part in iter_parts(len(genomes), step):
            out[part], results = self.list_results(genomes[part])
            account[part] = fold_account(
                out[part], results, order, self.costs.risk_fraction, self._merging
            )
        return out, account

    @property
    def _has_accounts_apart(self) -> bool:
        """True if windows with limits are several accounts, with trades added up by the host."""
        return self.costs.has_limits and len(split_accounts(self.windows)) > 1

    def _evaluate_money(self, genomes: Floats) -> tuple[Floats, Floats]:
        """The same where trades are sized from the account's cash, which the order decides."""
        out, stakes = self.evaluate(genomes), build_stakes(self.spec, self.costs, genomes)
        ledgers = self.ledgers(genomes)
        return out, fold_joint_money(out, ledgers, self.windows, self.series, stakes)

    def list_results(self, genomes: Floats) -> tuple[Floats, Results]:
        """Accumulators [P, W, A], and the results of the trades that they count."""
        members = self._require_legal(genomes)
        times = [bars.timestamp for bars in self.series]
        return self._backend.list_results(members, self.windows, times)

    def trades(self, genome: Floats) -> tuple[Ledger, ...]:
        """All trades of one individual [G]: a ledger a window, [W].

        Raises:
            GenomeError: When the genome is not legal.
        """
        (ledgers,) = self._list_ledgers(self._require_legal(np.asarray(genome)[None]))
        return ledgers

    def ledgers(self, genomes: Floats) -> Iterator[tuple[Ledger, ...]]:
        """All trades of several individuals [N, G]: of each in order a ledger a window, [W].

        Raises:
            GenomeError: When a genome is not legal.
        """
        genomes = self._require_legal(genomes)
        step = max(1, LISTED_PAIRS // len(self.windows))
        for begin in range(0, len(genomes), step):
            yield from self._list_ledgers(genomes[begin : begin + step])

    def signals(self, genome: Floats) -> tuple[Ints, ...]:
        """Signal bars of one individual, whatever the position; one array [S] a window."""
        (member,) = self._require_legal(np.asarray(genome)[None])
        return tuple(
            self._backend.signals(member, window).astype(np.int64) for window in self.windows
        )

    def _send(
        self, genomes: Floats, own: Slots | None = None, *, is_account: bool = False
    ) -> tuple[Wait, Floats]:
        """Begin to evaluate genomes [P, G], part after part; and room [P, A] for their accounts.

        `own` are numbers [P, W] of the windows that each individual meets; without them all meet
        all.
        """
        if own is not None and not self.meets_own:
            raise EngineError(f"on {self._backend.name} all individuals meet the same windows")
        genomes = self._require_legal(genomes)
        n_windows = len(self.windows) if own is None else own.shape[1]
        out = np.empty((len(genomes), n_windows, len(ACCUMULATORS)))
        account = np.empty((len(genomes), len(ACCUMULATORS)))
        sent = Sent(genomes, self.windows, own, out, account if is_account else None)
        step = self._chunk or max(1, min(PART_INDIVIDUALS, PART_PAIRS // n_windows))
        waits = [
            self._backend.begin(sent.of(slice(begin, begin + step)))
            for begin in range(0, len(genomes), step)
        ]

        def wait() -> Floats:
            for wait_for_part in waits:
                wait_for_part()
            return out

        return wait, account

    def _list_ledgers(self, genomes: Floats) -> list[tuple[Ledger, ...]]:
        """Ledgers [W] of each of several individuals."""
        step = len(self.windows) if self.costs.has_limits else LISTED_PAIRS
        parts = [
            self._backend.ledgers(genomes, self.windows[begin : begin + step])
            for begin in range(0, len(self.windows), step)
        ]
        return [tuple(chain.from_iterable(of_one)) for of_one in zip(*parts, strict=True)]

    def _require_legal(self, genomes: Floats) -> Floats:
        return self._validator.require_legal(require_genomes(self.spec, genomes))
