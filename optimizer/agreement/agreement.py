"""Trades of another program beside those of the same strategy here: equal ones, causes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from data.bars import Bars
from data.checks import Flags
from data.errors import TableError
from data.plain import takes_plain
from data.zones import LocalZone
from engine.accounts.metrics import SIDES
from optimizer.agreement.causes import TRIED, Case, Cause, find_causes
from optimizer.agreement.matching import (
    AFTER,
    BEFORE,
    NO_BAR,
    Ours,
    PlacedTrades,
    TradeList,
    find_first_parts,
    list_ours,
    place_trades,
)
from optimizer.agreement.reading import read_trade_list
from optimizer.candidate import GeneSource, hold_candidate, require_genes
from optimizer.config.run_config import RUN, RunConfig
from optimizer.errors import ConfigError
from optimizer.formatting import format_count, minute
from optimizer.run.task import Task
from optimizer.search.generation import Floats

OUTSIDE = {BEFORE: "before the bars", AFTER: "after the bars", NO_BAR: "between two bars"}


@dataclass(frozen=True)
class Fill:
    """Trade of one side, for people: bars by number and time, prices."""

    number: str  # as the list counts it; empty here
    side: str
    entry_time: str  # at which the bar opens, UTC
    entry_bar: int | None  # None where no bar has the time
    entry: float
    exit_time: str
    exit_bar: int | None
    exit: float | None  # None where the list has none
    is_open: bool


@dataclass(frozen=True)
class Difference:
    """First trades without an equal one; None where each has one."""

    there: Fill | None
    here: Fill | None


@dataclass(frozen=True)
class Agreement:
    """Trades of a list beside those of a strategy here, by the reference engine."""

    list: str
    program: str
    strategy: str
    data: str
    read_as: Mapping[str, str]  # meaning to the list's column
    there: int  # trades of the list
    here: int
    equal: int  # of the list
    only_there: int
    only_here: int
    open_there: int  # compared by their entries
    first: Difference
    causes: tuple[Cause, ...]
    tried: tuple[str, ...]  # causes that explain nothing more
    remaining: Difference  # first without an equal one when the causes are taken out
    notes: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """True if each trade of both sides has an equal one."""
        return not (self.only_there or self.only_here)

    @property
    def sentence(self) -> str:
        """The answer in a line."""
        if self.is_equal:
            who = "The only trade is" if self.there == 1 else f"All {self.there:,} trades are"
            return f"{who} equal: side, bars and prices."
        return (
            f"{self.equal:,} of {format_count(self.there, 'trade')} there are equal: side, bars "
            f"and prices; {self.only_here:,} of {self.here:,} here are not there."
        )

    def __repr__(self) -> str:
        return f"{self.sentence}\nAgreement({self.list!r}, {self.strategy!r})"

    def payload(self) -> dict[str, object]:
        """All of it as JSON has it."""
        return {**asdict(self), "is_equal": self.is_equal, "sentence": self.sentence}


@takes_plain(ConfigError, RUN)
def agree(  # noqa: PLR0913 - each is given by its name
    trades: str | Path,
    genes: Mapping[str, float | str] | None = None,
    *,
    file: str | Path | None = None,
    run: str | Path | None = None,
    member: int | None = None,
    list_tz: str | None = None,
    market: str | None = None,
    trust: bool = False,
    config: RunConfig | str | Path | None = None,
    **settings: object,
) -> Agreement:
    """Compare trades that another program lists with those of the same strategy here.

    Args:
        trades: TradingView's list of trades in any language, CSV or XLSX; freqtrade's backtest
            result; ``stats._trades`` of backtesting.py as CSV; ``backtest --trades`` of this one.
        genes: Value of each gene by name.
        file: JSON or CSV that holds the others, as of `backtest`.
        run: A run whose member is compared, as of `backtest`.
        member: Which one of the file, or of the run's front, whose pick it is if None.
        list_tz: Zone of the list's times where they name none, such as ``UTC+8h``; UTC if None.
        market: Market of a list that has several.
        trust: Whether to trust the run from now on, as of `load_run`.
        config: TOML file of settings, or a configuration; those that are named win over it.
        settings: As of `evolve`, also ``strategy`` and ``bars``.

    Returns:
        Trades there, here and equal ones, the first difference, and likely causes, each tried.

    Raises:
        ConfigError: When the file is no list of trades, or of another market or time than the
            bars; when a gene has no value; when a setting is wrong.
        DataError: When a file cannot be read.
    """
    source = GeneSource(genes or {}, file, run, member, trust=trust)
    with hold_candidate(source, settings, config, "agree") as (task, genome, _):
        require_genes(task, source)
        return _compare_list(Path(trades), task, genome, list_tz, market)


def _compare_list(
    path: Path, task: Task, genome: Floats, zone: str | None, market: str | None
) -> Agreement:
    """Compare a list of trades with those of a strategy's candidate [G] on the task's bars.

    Refused are a task with several markets or windows, a file that is no list of trades, and one
    of another market or of other years than the bars.
    """
    if len(task.markets.all_windows) > 1:
        raise ConfigError(
            "a list of trades is of one market and one span of time: name one series of bars, "
            "without --holdout, --parts and --max-gap"
        )
    (window,) = task.markets.all_windows
    bars = task.markets.series[window.series]
    listed = read_trade_list(path, (float(bars.low.min()), float(bars.high.max())), market)
    theirs = _place(listed, bars, zone, path.name)
    is_within = (theirs.entry_bar < window.end) & (
        (theirs.entry_bar >= window.start) | (window.start == 0)
    )
    if not is_within.any():
        raise ConfigError(f"{path.name}: no trade of the list begins between --from and --to")
    if task.spec.targets is not None:
        is_within &= find_first_parts(theirs)
    theirs = _end_trades(theirs.keep(is_within), window.end)
    listed = listed.keep(is_within)

    def run(span: slice) -> Ours:
        on_bars = replace(window, start=span.start, end=span.stop)
        (ledger,) = task.build_reference([on_bars]).trades(genome)
        return list_ours(ledger, has_parts=listed.has_parts)

    span, has_market_entry = slice(window.start, window.end), task.spec.entry is None
    case = Case(listed, bars, theirs, run(span), listed.unit, has_market_entry, span, run)
    _refuse_other_market(case, path.name)
    is_equal, is_equal_here = case.match()
    causes, remaining = find_causes(case)
    return Agreement(
        path.name,
        listed.program,
        task.spec.name,
        f"{bars.symbol} {bars.timeframe}, {format_count(len(bars), 'bar')}",
        listed.read_as,
        len(theirs),
        len(case.ours),
        int(is_equal.sum()),
        int((~is_equal).sum()),
        int((~is_equal_here).sum()),
        int(listed.is_open.sum()),
        _find_difference(case),
        causes,
        tuple(name for name in TRIED if name not in {cause.name for cause in causes}),
        _find_difference(remaining),
        (*task.notes, *_list_notes(listed, zone)),
    )


def _place(listed: TradeList, bars: Bars, zone: str | None, where: str) -> PlacedTrades:
    try:
        theirs = place_trades(listed, bars, None if zone is None else LocalZone(zone, "earlier"))
    except TableError as error:
        raise ConfigError(str(error).replace("--tz", "--list-tz")) from None
    if np.isin(theirs.entry_bar, (BEFORE, AFTER)).all():
        first, last = minute(int(listed.entry_ns.min())), minute(int(listed.entry_ns.max()))
        raise ConfigError(
            f"{where}: its trades begin from {first} to {last}, and the bars are from "
            f"{minute(int(bars.timestamp[0]))} to {minute(int(bars.timestamp[-1]))}: name bars "
            "that cover the list"
        )
    return theirs


def _end_trades(theirs: PlacedTrades, end: int) -> PlacedTrades:
    """The same as of bar `end`, at which later exits are open."""
    is_later = theirs.exit_bar >= end
    exit_bar = np.where(is_later, end - 1, theirs.exit_bar)
    return replace(theirs, exit_bar=exit_bar, is_open=theirs.is_open | is_later)


def _refuse_other_market(case: Case, where: str) -> None:
    """Refuse a list with prices that no bar has come near."""
    low, high = float(case.bars.low.min()), float(case.bars.high.max())
    prices = np.concatenate([case.theirs.entry, case.theirs.exit])
    prices = prices[~np.isnan(prices)]
    if ((prices < low) | (prices > high)).all():
        raise ConfigError(
            f"{where}: is a list of another market: its prices are from {prices.min():g} to "
            f"{prices.max():g}, those of the bars from {low:g} to {high:g}"
        )


def _list_notes(listed: TradeList, zone: str | None) -> list[str]:
    notes = []
    if not listed.is_zoned and zone is None:
        notes.append("times of the list name no zone, read as UTC; --list-tz names another")
    if listed.is_zoned and zone is not None:
        notes.append(f"--list-tz {zone} changes no time: the list's name their zone")
    return notes


def _find_difference(case: Case) -> Difference:
    theirs, ours = case.match()
    return Difference(
        _describe_first(case, case.theirs, theirs), _describe_first(case, case.ours, ours)
    )


def _describe_first(case: Case, trades: PlacedTrades, is_equal: Flags) -> Fill | None:
    """The first trade without an equal one."""
    if is_equal.all():
        return None
    k = int(np.argmin(is_equal))
    entry_bar, exit_bar = int(trades.entry_bar[k]), int(trades.exit_bar[k])
    leave = float(trades.exit[k])
    return Fill(
        str(trades.number[k]),
        SIDES[int(trades.side[k] < 0)],
        OUTSIDE.get(entry_bar) or case.format_bar(entry_bar),
        None if entry_bar < 0 else entry_bar,
        float(trades.entry[k]),
        OUTSIDE.get(exit_bar) or case.format_bar(exit_bar),
        None if exit_bar < 0 else exit_bar,
        None if np.isnan(leave) else leave,
        bool(trades.is_open[k]),
    )
