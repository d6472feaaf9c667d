"""Backtest of one candidate, printed."""

from collections.abc import Iterator, Sequence

from engine.accounts.ledger import Ledger
from engine.reference_intrabar import Intrabar
from optimizer.cli.console import Lines
from optimizer.cli.tables import (
    describe_doubtful,
    describe_exits,
    print_individual,
    windows_table,
)
from optimizer.formatting import format_count, fraction, number
from optimizer.report.run import Single
from optimizer.run.backtest import describe_orders
from optimizer.store.caveats import describe_account, list_caveats, name_limits
from optimizer.store.result import choose_noun, describe_quality

BY_WINDOW = ("trades", "sum_r", "sharpe_trade", "total_return", "max_drawdown")
"""Metrics that are shown window by window."""


def print_ends(console: Lines, single: Single) -> None:
    """Print why trades ended, and what is doubtful about them."""
    task, record = single.task, single.record
    places = task.markets.places("search")
    searched = [single.ledgers[w] for w in places]
    console.say(_describe_ends(searched))
    console.say_all(describe_orders(task.spec, searched))
    n_symbols = len({task.markets.symbols[w] for w in places})
    limits = name_limits(task.costs.max_positions, task.costs.max_leverage)
    console.say_all(describe_account(record, n_symbols, limits=limits))
    if record.held_out is not None:
        console.say_all(f"Held-out bars: {line}" for line in list_caveats(record.held_out))
    console.say_all(_list_doubts(searched, record.contradictions, task.costs.min_risk))
    console.say(_describe_intrabar(record.intrabar))


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


def print_backtest(console: Lines, single: Single) -> None:
    """Print genes and metrics, window by window where there are several."""
    backtest, data = single.record, single.record.data
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
