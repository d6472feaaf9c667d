"""Today's genes of a run that is a schedule: its steps until now, searched where they are due."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from data.bars import Window
from data.checks import Floats, format_time
from optimizer.errors import ConfigError
from optimizer.evidence.schedule import ScheduleRecord, TradedSteps
from optimizer.evidence.schedule_searches import continue_schedule
from optimizer.run.runner import on_other_bars
from optimizer.run.task import Task
from optimizer.schedule import EnteredTrades, join_ledgers, stitch
from optimizer.signals.account import ChainAccount, TradeChain, TradedChain
from optimizer.store import RunStore
from optimizer.store.payload import Payload


@dataclass(frozen=True, kw_only=True)
class SignalStep(Payload):
    """Step of a schedule with the pick that trades now."""

    what: ClassVar[str] = "a step of today"

    date: str  # of its search
    next_date: str
    due: str | None = None  # date of a search that was to be made and is not; None for none


@dataclass(frozen=True, eq=False)
class TodaysGenes:
    """Picks of all steps until now; the last one trades."""

    step: SignalStep
    traded: TradedSteps

    @property
    def genome(self) -> Floats | None:
        """Genome [G] that signals; None of an empty front."""
        return self.traded.picks[-1]

    def trade(self, account: ChainAccount) -> list[TradedChain]:
        """Trades of all steps, of each chain of an account."""
        windows = [
            replace(window, series=account.windows[window.series].series)
            for window in self.traded.task.markets.uncut
        ]
        stitched = stitch(account.reference, windows, self.traded.steps, self.traded.picks)
        # A market that ends before the first date trades nothing.
        nothing = TradedChain(join_ledgers([]), None, ())
        chains: dict[int, TradedChain] = {}
        entered: dict[int, list[EnteredTrades]] = {window.series: [] for window in windows}
        for each in stitched.entered:
            entered[each.window.series].append(each)
        for window, ledger, steps in zip(
            stitched.windows, stitched.ledgers, stitched.steps, strict=True
        ):
            last = stitched.picks[steps[-1]] if len(steps) else None
            chains[window.series] = TradedChain(ledger, last, tuple(entered[window.series]))
        return [chains.get(window.series, nothing) for window in account.windows]


def find_todays_genes(
    store: RunStore,
    task: Task,
    made: ScheduleRecord,
    chains: Sequence[TradeChain],
    parts: int,
    *,
    may_search: bool,
) -> TodaysGenes:
    """Picks of all steps until the newest closed bars; searches that are due are recorded.

    Those are made if it `may_search`, in a store that is open for writing; else the pick before
    goes on. Bars that do not begin with those of the run are refused. Windows are cut into `parts`.
    """
    if not all(chain.begins_with_run for chain in chains):
        raise ConfigError(
            f"run '{store.run_id}' is a schedule, whose dates follow from where its bars begin: "
            "name bars that hold those too, or a member of its front"
        )
    windows = [Window(chain.series, chain.start, len(chain.bars)) for chain in chains]
    longer = on_other_bars(task, [chain.bars for chain in chains], windows, parts=parts)
    traded, missing = continue_schedule(store, longer, made, may_search=may_search)
    steps = traded.steps
    step = SignalStep(
        date=format_time(steps[len(steps) - len(missing) - 1].date_ns),
        next_date=format_time(steps[-1].date_ns + made.every_ns),
        due=format_time(steps[missing[0]].date_ns) if missing else None,
    )
    return TodaysGenes(step, traded)
