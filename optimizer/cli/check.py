"""strategies check: a file's rules, and its rows and trades on some bars, by both engines."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from data import Bars
from engine.reference import Reference
from engine.replay.certificate import certify
from engine.runtime.compiling.forms import CompiledForm
from optimizer.cli.console import Lines, plain_table
from optimizer.cli.data_tables import price_chart
from optimizer.cli.result import describe_exits, format_fact, list_doubts
from optimizer.cli.strategy_texts import print_genes
from optimizer.formatting import format_count, number
from optimizer.report.summary import describe_replay
from optimizer.run.backtest import describe_orders
from optimizer.run.individuals import prove_front
from optimizer.run.task import Task
from optimizer.store.result import refuse_red
from strategy.conditions import Compare, Condition, split_conjunction
from strategy.expressions import DAY_MINUTES, Expression, GeneValue, Number
from strategy.forms import SessionExit
from strategy.model import Strategy
from strategy.nodes import Node, walk
from strategy.parts import PARTS
from strategy.pretty_print import format_tree
from strategy.rows import count_warm_up, first_value

SIDES = ("long", "short", "exit_long", "exit_short")
"""Conditions of a strategy."""

MINUTES = "minute_of_day"

MOST_CORNERED = 6
"""Genes of a condition that are tried at both bounds, all with all."""


def print_strategy(console: Lines, task: Task) -> None:
    """Print rows, conditions and trades of default genes on some bars, by both engines."""
    strategy = task.spec
    console.say(f"{strategy.name}: {strategy.summary}")
    console.say(format_count(len(strategy.layout), "gene"))
    _print_parts(console, strategy)
    console.say_all(dict.fromkeys(_read_clock(strategy)))
    print_genes(console, strategy)
    for bars in task.markets.searched:
        _print_rows(console, strategy, bars)
        _print_conditions(console, strategy, bars)
    _print_trades(console, task, strategy)


def _print_parts(console: Lines, strategy: Strategy) -> None:
    table = plain_table("", "says", is_folded=True)
    for name in PARTS:
        part = getattr(strategy, name)
        text = format_tree(part) if isinstance(part, Node) else str(part)
        if part is not None and (name != "delay" or text != "0"):
            table.add_row(name, text)
    console.print(table)


def _read_clock(strategy: Strategy) -> Iterator[str]:
    """Written minutes of the day as a clock shows them: 930 may stand for 9:30."""
    for node in walk(strategy):
        if isinstance(node, Compare):
            sides = [(node.left, node.right), (node.right, node.left)]
            minutes: list[Expression] = [other for row, other in sides if row.label == MINUTES]
        else:
            minutes = [node.minute] if isinstance(node, SessionExit) else []
        for minute in minutes:
            if not isinstance(minute, Number):
                continue
            hours, rest = divmod(minute.value, 60)
            clock = f"is {hours:02.0f}:{rest:02.0f}"
            if not 0 <= minute.value <= DAY_MINUTES:
                clock = f"is none, a day has {DAY_MINUTES:,}"
            yield f"{format_tree(node)}: minute {number(minute.value)} of the day {clock}"


def _print_rows(console: Lines, strategy: Strategy, bars: Bars) -> None:
    """Every row with the default genes: when it is known, and how often it then is not."""
    genes = strategy.layout.decode(strategy.layout.defaults)
    rows = Reference(strategy, [bars], [], form=CompiledForm()).rows(genes, 0)
    headings = ("warm-up", "first value", "then unknown")
    table = plain_table("row", *headings, right=headings, is_folded=True)
    warm_ups = {
        format_tree(expression): count_warm_up(expression, genes)
        for expression in strategy.expressions
    }
    for name, row in rows.items():
        first = first_value(row)
        holes = int(np.isnan(row[first:]).sum())
        shown = number(first) if first < len(row) else "never"
        table.add_row(name, number(warm_ups[name]), shown, number(holes))
    console.print(table)


def _print_conditions(console: Lines, strategy: Strategy, bars: Bars) -> None:
    """How often each part of the conditions holds with the default genes, and which never can."""
    reference = Reference(strategy, [bars], [], form=CompiledForm())
    genes = strategy.layout.decode(strategy.layout.defaults)
    table = plain_table(
        "", "condition", "bars on which it holds", right=("bars on which it holds",)
    )
    never = []
    for side in SIDES:
        for condition in split_conjunction(getattr(strategy, side)):
            count = int(reference.truth(condition, genes, 0).sum())
            table.add_row(side, format_tree(condition), f"{count:,} of {len(bars):,}")
            if not count:
                never.append((side, condition))
    console.print(table)
    for side, condition in never:
        corners = list(_list_corners(strategy, condition))
        count = max(
            int(reference.truth(condition, {**genes, **corner}, 0).sum()) for corner in corners
        )
        how = " with the default genes" if len(corners) > 1 else ""
        if count:
            how += f", and on at most {format_count(count, 'bar')} at the bounds of its genes"
        elif how:
            how += ", nor at the bounds of its genes"
        colour = "yellow" if count else "red"
        console.say(f"{side}: {format_tree(condition)} never holds{how}", style=colour)


def _list_corners(strategy: Strategy, condition: Condition) -> Iterator[Mapping[str, float]]:
    """Values of a condition's genes at their bounds, all combinations of the first few."""
    genes = {node.gene.name: node.gene for node in walk(condition) if isinstance(node, GeneValue)}
    names = list(genes)[:MOST_CORNERED]
    bounds = [strategy.layout.gene(name).extremes for name in names]
    for values in product(*bounds):
        whole = zip(names, values, strict=True)
        yield {name: int(v) if genes[name].is_int else v for name, v in whole}


def _print_trades(console: Lines, task: Task, strategy: Strategy) -> None:
    """Signals and trades with the default genes, and where they lie."""
    genome = task.spec.layout.defaults
    engine = task.engine(device="cpu")
    # First, because a machine's first replay waits for loops that another process compiles.
    signals_of_windows, ledgers = engine.signals(genome), engine.trades(genome)
    certificate = certify(engine, genome[None])
    refuse_red(certificate)
    prove_front(task, genome[None])
    markets = task.markets
    for bars, window, signals, ledger in zip(
        [markets.series[searched.series] for searched in markets.windows],
        markets.windows,
        signals_of_windows,
        ledgers,
        strict=True,
    ):
        console.say(f"{bars.symbol} {bars.timeframe}, bars {window.start} to {window.end - 1}:")
        console.say_all(price_chart(bars))
        shorts = int((ledger.side < 0).sum())
        sides = f", {number(shorts)} of them short" if strategy.goes_short else ""
        console.say(
            f"{format_count(len(signals), 'signal')}, {format_count(len(ledger), 'trade')}{sides}; "
            f"{describe_exits([ledger])}"
        )
        both = Reference(strategy, [bars], [replace(window, series=0)]).contradictions(genome)
        console.say_all(describe_orders(strategy, [ledger]))
        console.say_all(list_doubts([ledger], both, task.costs.min_risk))
    console.say(format_fact(describe_replay(certificate)))
