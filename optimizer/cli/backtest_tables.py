"""Backtest of one individual: its metrics, its ledger, and how it is printed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.accounts.ledger import ACCUMULATORS, Ledger, Trade
from engine.accounts.metrics import compute_metrics
from engine.certificate import data_hash
from engine.reference import Reference
from engine.reference_intrabar import Intrabar, measure_intrabar, read_bars
from engine.reference_terms import list_terms
from optimizer.cli.console import stdout
from optimizer.cli.tables import (
    describe_doubtful,
    describe_exits,
    print_individual,
    windows_table,
)
from optimizer.config.run_config import resolve_config
from optimizer.errors import ConfigError
from optimizer.formatting import format_count, fraction, number
from optimizer.run.genes_file import chosen_individual, chosen_member, encode_genome
from optimizer.run.individuals import (
    build_account,
    compute_figures,
    with_account,
)
from optimizer.run.purposes import REPLAY, restore_front
from optimizer.run.task import Task, describe_data, ledger_rows, prepare
from optimizer.run.trade_details import describe_orders, list_details
from optimizer.search.generation import Floats
from optimizer.store import find_run
from optimizer.store.caveats import describe_account, list_caveats, name_limits
from optimizer.store.result import (
    DataDescription,
    Figures,
    Member,
    WindowDescription,
    choose_noun,
    describe_quality,
)

Accounts = Callable[[Sequence[int]], Floats]
"""From places of windows to their accumulators [A] as one account."""

BY_WINDOW = ("trades", "sum_r", "sharpe_trade", "total_return", "max_drawdown")
"""Metrics that are shown window by window."""


@dataclass(frozen=True, kw_only=True)
class WindowFigures(WindowDescription, Figures):
    """Figures of an individual in one window, with its accumulators by name."""

    accumulators: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Backtest(Member):
    """Backtest of one individual: a member of no front, and more of each of its windows, [W]."""

    strategy: str
    data: DataDescription
    data_hash: str
    windows: tuple[WindowFigures, ...]
    intrabar: Intrabar
    contradictions: int  # bars at which both sides signal, so that neither does; as searched on
    engine: str
    over_windows: str


def print_ends(task: Task, ledgers: Sequence[Ledger], backtest: Backtest) -> None:
    """Print why trades ended, and what is doubtful about them."""
    searched = [ledgers[w] for w in task.markets.places("search")]
    stdout().say(_describe_ends(searched))
    stdout().say_all(describe_orders(task.spec, searched))
    n_symbols = len({task.markets.symbols[w] for w in task.markets.places("search")})
    limits = name_limits(task.costs.max_positions, task.costs.max_leverage)
    stdout().say_all(describe_account(backtest, n_symbols, limits=limits))
    if backtest.held_out is not None:
        stdout().say_all(f"Held-out bars: {line}" for line in list_caveats(backtest.held_out))
    stdout().say_all(_list_doubts(searched, backtest.contradictions, task.costs.min_risk))
    stdout().say(_describe_intrabar(backtest.intrabar))


@dataclass(frozen=True)
class Source:
    """Source of genes: a file, or the front of a recorded run; else the defaults."""

    genes: Path | None = None
    run: str | None = None
    runs: Path = Path("runs")
    member: int | None = None  # which individual; None where there is only one


def resolve_source(
    flags: Mapping[str, object],
    config_file: Path | None,
    source: Source,
    settings: Mapping[str, object],
) -> tuple[Task, Floats, str]:
    """The task, the genome [G], and whose genes they are; `settings` of some go before these."""
    if source.run is not None:
        if source.genes is not None or config_file is not None:
            other = "--genes" if source.genes is not None else "--config"
            raise ConfigError(f"a run and {other} both say what to backtest: leave one out")
        path = find_run(source.runs, source.run)
        task, front = restore_front(path, REPLAY, flags)
        index = chosen_member(f"run '{source.run}'", len(front), source.member)
        layout, whose = task.spec.layout, f"member {index} of run {path.name}"
        return task, encode_genome(layout, {**layout.decode(front[index]), **settings}), whose
    genes, whose = settings, ""
    if source.genes is not None:
        which = "genes" if source.member is None else f"member {source.member}"
        genes = {**chosen_individual(source.genes, source.member), **settings}
        whose = f"{which} of {source.genes.name}"
    elif source.member is not None:
        raise ConfigError(
            "--member chooses from a run or a file: name a run, or add --genes or --run"
        )
    task = prepare(resolve_config(config_file, flags), genes=genes)
    return task, encode_genome(task.spec.layout, genes), whose


def _describe_ends(ledgers: Sequence[Ledger]) -> str:
    """Sides of the trades on searched bars, and why they ended."""
    n_short = sum(int((ledger.side < 0).sum()) for ledger in ledgers)
    n_long = sum(len(ledger) for ledger in ledgers) - n_short
    return f"\n{number(n_long)} long, {number(n_short)} short; {describe_exits(ledgers)}"


def _list_doubts(ledgers: Sequence[Ledger], contradictions: int, min_risk: float) -> Iterator[str]:
    """Signals that were not traded, and stops that no price reaches."""
    trades, rejected = sum(map(len, ledgers)), sum(ledger.rejected for ledger in ledgers)
    if rejected:
        yield (
            f"{number(rejected)} of {format_count(rejected + trades, 'signal')} rejected: stop or "
            "target on the wrong side of the entry, or a risk below "
            f"{fraction(min_risk)} of the price"
        )
    if contradictions:
        yield (
            f"{format_count(contradictions, 'bar')} where both sides signal, which neither trades: "
            "long and short conditions hold at once"
        )
    yield from describe_doubtful(ledgers)


def _count_contradictions(task: Task, genome: Floats) -> int:
    """Bars searched on at which both sides signal; a strategy of one side has none."""
    if not (task.spec.long and task.spec.short):
        return 0
    return task.build_reference(task.markets.windows).contradictions(genome)


def draw_page(task: Task, genome: Floats, whose: str) -> str:
    """The report of one individual; what draws is loaded only where it is wanted."""
    from optimizer.report.page import page_html
    from optimizer.report.run import Single

    return page_html(Single(task, genome, whose))


def build_ledger_table(
    task: Task, genome: Floats, ledgers: Sequence[Ledger]
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Column names and rows of an individual's [G] trades, with the times at which bars open.

    `ledgers` are in the order of `Markets.all_windows`. Symbol and sample come first where
    there are several windows, and the window itself where one symbol has several. Legs, payments
    and sizes stand before the times where the strategy has such.
    """
    markets = task.markets
    described = markets.describe()
    whose: tuple[str, ...] = ("symbol", "sample") if len(described) > 1 else ()
    if choose_noun(described) == "window":
        whose = ("symbol", "label", "sample")
    rows: list[tuple[object, ...]] = []
    details = [of_window.columns for of_window in list_details(task, genome, ledgers)]
    for window, description, ledger, columns in zip(
        markets.all_windows, described, ledgers, details, strict=True
    ):
        owner = tuple(getattr(description, name) for name in whose)
        stamps = markets.series[window.series].timestamp
        rows += [
            (
                *owner,
                *row,
                *(_read_cell(column[k]) for column in columns.values()),
                _format_time(stamps[ledger.entry_bar[k]]),
                _format_time(stamps[ledger.exit_bar[k]]),
            )
            for k, row in enumerate(ledger_rows(ledger))
        ]
    return (*whose, *Trade._fields, *details[0], "entry_time", "exit_time"), rows


def _format_time(stamp: int) -> str:
    """ISO time of nanoseconds since 1970, as other programs read it."""
    return f"{np.datetime64(int(stamp), 'ns').astype('datetime64[s]')}Z"


def _read_cell(value: np.generic) -> object:
    """A number as plain Python, a time as text; None where there is none, as of a leg."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else _format_time(int(value.astype(np.int64)))
    number_of_bar: object = value.item()
    return None if isinstance(number_of_bar, int) and number_of_bar < 0 else number_of_bar


def run_engine(
    task: Task, genome: Floats, engine: str
) -> tuple[tuple[Ledger, ...], Floats, Accounts]:
    """The ledgers [W] and the accumulators [W, A] of one individual, in all windows.

    And what gives those of some of the windows as one account.
    """
    markets = task.markets
    every = markets.all_windows
    if engine == "reference":
        reference = Reference(task.spec, markets.series, every, task.costs)
        ledgers = tuple(reference.trades(genome))
        folded = np.array([reference.fold(ledger, genome) for ledger in ledgers])
        return ledgers, folded, lambda indices: reference.account(ledgers, indices, genome)
    batch = task.full_engine(device=engine)

    def account(indices: Sequence[int]) -> Floats:
        some = batch.on([every[index] for index in indices])
        _, accumulators = some.evaluate_account(genome[None])
        return np.ravel(accumulators)

    return tuple(batch.trades(genome)), batch.evaluate(genome[None])[0], account


def describe_backtest(
    task: Task,
    genome: Floats,
    ledgers: Sequence[Ledger],
    accumulators: Floats,
    account: Accounts,
    engine: str,
) -> Backtest:
    """Backtest of an individual in all windows, and in each."""
    markets = task.markets

    def figures(indices: Sequence[int]) -> Figures:
        spans = markets.spans([markets.all_windows[index] for index in indices])
        table = compute_metrics(accumulators[None, indices], spans, account=account(indices)[None])
        over = compute_figures(table, 0, task.goals.over)
        return with_account(over, build_account(task, indices), ledgers, genome)

    held_out = markets.places("held_out")
    return Backtest(
        **vars(figures(markets.places("search"))),
        strategy=task.spec.name,
        genes=task.spec.layout.show(genome),
        data=describe_data(task),
        data_hash=data_hash(markets.series),
        held_out=figures(held_out) if held_out else None,
        windows=tuple(
            WindowFigures(
                **vars(window),
                **vars(figures([w])),
                accumulators=dict(zip(ACCUMULATORS, accumulators[w].tolist(), strict=True)),
            )
            for w, window in enumerate(markets.describe())
        ),
        intrabar=_measure_intrabar(task, genome, ledgers),
        contradictions=_count_contradictions(task, genome),
        engine=engine,
        over_windows=task.goals.over,
    )


def _measure_intrabar(task: Task, genome: Floats, ledgers: Sequence[Ledger]) -> Intrabar:
    """Share of results that hangs on the order within a bar, over the windows to search on."""
    windows, reference = task.markets.windows, task.build_reference([])
    searched = [ledgers[place] for place in task.markets.places("search")]
    terms = list_terms(reference, genome, windows)
    return measure_intrabar(searched, read_bars(reference, genome, windows, searched, terms))


def _describe_intrabar(intrabar: Intrabar) -> str:
    line = (
        f"undecided within a bar: {number(intrabar.undecided)} of "
        f"{format_count(intrabar.trades, 'trade')} ({intrabar.share:.1%})"
    )
    if not intrabar.undecided:
        return line
    needed = "These bars are too coarse for this bracket: use" if intrabar.is_too_coarse else "Use"
    return (
        f"{line}; stop or target first in {number(intrabar.at_target)}, stop or fill first in "
        f"{number(intrabar.at_fill)}. The worse case is taken: these make "
        f"{intrabar.undecided_r:.4g} of {intrabar.sum_r:.4g} R; in the better case all trades "
        f"make {intrabar.sum_r_target_first:.4g} R. {needed} --finer FILE to read shorter bars."
    )


def print_backtest(backtest: Backtest) -> None:
    """Print genes and metrics, window by window where there are several."""
    console, data = stdout(), backtest.data
    simulated = " (a SIMULATED market)" if data.is_simulated else ""
    console.say(
        f"{backtest.strategy} on {data.symbol} {data.timeframe}{simulated}, "
        f"{format_count(data.bars, 'bar')}, engine {backtest.engine}"
    )
    console.say_all(describe_quality(backtest.windows))
    print_individual(console, backtest, backtest.windows, backtest.over_windows)
    has_several = sum(not window.is_held_out for window in backtest.windows) > 1
    if has_several:
        by_window = {
            name: [figures.metrics[name] for figures in backtest.windows] for name in BY_WINDOW
        }
        noun = choose_noun(backtest.windows)
        console.print()
        console.print(windows_table(backtest.windows, by_window, f"{noun} by {noun}".capitalize()))
