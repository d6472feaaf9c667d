"""Results and backtests, printed: the verdict, the front, its proof, the trades of a candidate."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

from engine.accounts.ledger import REASONS, Ledger
from optimizer.cli.console import WIDTH_OF_A_FILE, Lines, columns_table, stdout
from optimizer.evidence.judgement import Judgement, derive_verdict, expect_members, find_pick
from optimizer.formatting import (
    BESIDE_OBJECTIVES,
    EXPECTED,
    MARKED,
    choose_columns,
    describe_formulas,
    format_count,
    format_gene,
    fraction,
    metric,
    number,
)
from optimizer.goals.advice import advise, describe_failures, describe_nearest
from optimizer.goals.objectives import find_metric
from optimizer.report.summary import CLOSED, Fact, select, summarize_result
from optimizer.run.tables import SHOWN_MEMBERS, find_differing
from optimizer.store.caveats import describe_account, describe_gone, list_caveats, name_limits
from optimizer.store.result import (
    Figure,
    Figures,
    Member,
    RunResult,
    WindowDescription,
    choose_noun,
    describe_quality,
    describe_windows,
)

SHOWN_LABELS, SHOWN_WINDOWS = 100, 20

IMPORTANCE_WIDTH = 20
"""Columns that two shares of an objective take."""

PICK = "*"
"""Stands before the number of the member that is the one answer."""


def front_title(count: int, shown: int, pick: int | None = None) -> str:
    """Title of a front: number of members, how many are shown, and the mark of the pick."""
    rest = f", {shown} of them that differ most (all: --front all)" if count > shown else ""
    marked = "" if pick is None else f", {PICK} is the pick"
    return f"Front: {format_count(count, 'member')}{rest}{marked}"


def front_tables(
    members: Mapping[int, Member],
    objectives: Sequence[str],
    width: int = WIDTH_OF_A_FILE,
    pick: int | None = None,
    expected: Mapping[int, float] = MappingProxyType({}),
) -> list[Table]:
    """The best known compromises: objectives, then as many metrics beside them as there is room.

    Of members by their numbers; objectives that are too wide for one table follow in others. `pick`
    is marked, `expected` is the mean R of members with a known one.
    """
    first = next(iter(members.values()))
    known = {*BESIDE_OBJECTIVES, *first.metrics} - ({EXPECTED} if not expected else set())
    columns = choose_columns(objectives, known)
    rows = {}
    for member, individual in members.items():
        values = {**individual.metrics, **individual.objectives, EXPECTED: expected.get(member)}
        rows[member] = {name: metric(name, values.get(name)) for name in columns}
    blocks = _split_columns(columns, rows, width, PICK)
    # Columns that do not fit are among the metrics of each member in `runs show`.
    shown = [names for names in blocks if set(names) & {*objectives, MARKED}]
    return [_numbers_table(names, rows, bold=objectives, pick=pick) for names in shown]


def genes_tables(members: Mapping[int, Member], width: int = WIDTH_OF_A_FILE) -> list[Table]:
    """The genes of the same individuals, in the same order; too wide tables below each other.

    None where the strategy has no genes.
    """
    if not any(individual.genes for individual in members.values()):
        return []
    rows = {
        member: {name: format_gene(value) for name, value in individual.genes.items()}
        for member, individual in members.items()
    }
    blocks = _split_columns(list(next(iter(rows.values()))), rows, width)
    tables = [_numbers_table(names, rows) for names in blocks]
    tables[0].title, tables[0].title_justify = "Their genes", "left"
    return tables


def _numbers_table(
    names: Sequence[str],
    rows: Mapping[int, Mapping[str, str]],
    bold: Sequence[str] = (),
    pick: int | None = None,
) -> Table:
    """A row a member, under its number."""
    table = Table(box=None)
    table.add_column("#", justify="right", style="dim", no_wrap=True)
    for name in names:
        style = "bold" if name in bold else ""
        table.add_column(heading(name), justify="right", style=style, no_wrap=True)
    for member, row in rows.items():
        mark = PICK if member == pick else ""
        table.add_row(f"{mark}{member}", *(row[name] for name in names))
    return table


def _split_columns(
    names: Sequence[str], rows: Mapping[int, Mapping[str, str]], width: int, mark: str = ""
) -> list[list[str]]:
    """Columns in as few groups as fit side by side, each behind the numbers of the members.

    `mark` is what may stand before a number.
    """
    first = max(len(mark) + len(str(member)) for member in rows) + 2
    blocks: list[list[str]] = [[]]
    left = width - first
    for name in names:
        words = heading(name).split("\n")
        wide = max(map(len, (*words, *(row[name] for row in rows.values())))) + 2
        if wide > left and blocks[-1]:
            blocks.append([])
            left = width - first
        blocks[-1].append(name)
        left -= wide
    return blocks


def metrics_table(candidate: Member) -> Table:
    """All metrics of a candidate, beside them those on bars that are held out."""
    columns = {"": _format_metrics(candidate)}
    if candidate.held_out is not None:
        columns = {
            "searched on": _format_metrics(candidate),
            "held out": _format_metrics(candidate.held_out),
        }
    return columns_table(columns, "Metrics")


def print_individual(
    console: Lines, candidate: Member, windows: Sequence[WindowDescription], over: str
) -> None:
    """Print genes, and metrics below their meaning over several windows."""
    if candidate.genes:
        console.print()
        genes = {name: format_gene(value) for name, value in candidate.genes.items()}
        console.print(columns_table({"": genes}, "Genes"))
    console.print()
    if summary := describe_windows(windows, over):
        console.say(f"{summary[0].upper()}{summary[1:]}.")
    console.print(metrics_table(candidate))


def _format_metrics(part: Figures) -> dict[str, str]:
    """Metrics in words, undefined ones with their reason."""
    return {
        name: f"undefined: {part.undefined[name].replace('_', ' ')}"
        if name in part.undefined
        else metric(name, value)
        for name, value in part.metrics.items()
    }


def importance_tables(
    importance: "Mapping[str, Importance]", genes: Sequence[str], width: int
) -> list[Table]:
    """Shares of genes, those of the first objective greatest first; objectives as far as fit."""
    first = next(iter(importance.values()))
    order = np.argsort(-first.alone, kind="stable")
    widest = max(map(len, genes))
    at_once = max((width - widest - 2) // IMPORTANCE_WIDTH, 1)
    names, tables = list(importance), []
    for begin in range(0, len(names), at_once):
        table = Table(box=None)
        table.add_column("gene", no_wrap=True)
        shown = names[begin : begin + at_once]
        for name in shown:
            table.add_column(f"{heading(name)}\nalone", justify="right")
            table.add_column("\nbeyond", justify="right", vertical="bottom")
        for gene in order:
            cells = [
                fraction(float(share)) if share > noise else "-"
                for shares in (importance[name] for name in shown)
                for share, noise in zip(
                    (shares.alone[gene], shares.beyond[gene]), shares.noise, strict=True
                )
            ]
            table.add_row(genes[gene], *cells)
        sums = [cell for name in shown for cell in (fraction(importance[name].together), "")]
        table.add_row("all together", *sums, style="dim")
        tables.append(table)
    return tables


def heading(name: str) -> str:
    """A name over a narrow column: a word a line."""
    return name.replace("_", "\n")


def windows_table(
    windows: Sequence[WindowDescription], by_window: Mapping[str, Sequence[Figure]], title: str
) -> Table:
    """One individual, window by window [W]; those of one label below each other."""
    noun, has_held_out = choose_noun(windows), any(window.is_held_out for window in windows)
    by_label: dict[str, list[int]] = {}
    for index, window in enumerate(windows):
        by_label.setdefault(window.label, []).append(index)
    most = SHOWN_WINDOWS if noun == "window" else SHOWN_LABELS
    rest = f" (the first {most} of {len(by_label)}; --json has all)" if len(by_label) > most else ""
    table = Table(title=title + rest, title_justify="left", box=None)
    table.add_column(noun, overflow="fold")
    if has_held_out:
        table.add_column("bars that were", no_wrap=True)
    table.add_column("from", no_wrap=True)
    for name in ("bars", *by_window):
        table.add_column(heading(name), justify="right")
    for label in list(by_label)[:most]:
        for nth, index in enumerate(by_label[label]):
            window = windows[index]
            cells = ["" if nth else label, window.first[:10], number(window.bars)]
            if has_held_out:
                cells.insert(1, "held out" if window.is_held_out else "searched on")
            table.add_row(*cells, *(metric(n, column[index]) for n, column in by_window.items()))
    return table


def held_out_table(members: Mapping[int, Member], objectives: Sequence[str]) -> Table:
    """Members of a front in the bars that they were found on, and in those held out."""
    title = "Held out: bars that the search never saw, beside those it saw"
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("#", justify="right", style="dim")
    for name in ("trades", *objectives):
        table.add_column(heading(name), justify="right")
        table.add_column(f"held out\n{heading(name)}", justify="right", style="bold")
    for index, member in members.items():
        both_figures = (member, member.held_out or Figures(metrics={}))
        both = [{**part.metrics, **part.objectives} for part in both_figures]
        cells = (metric(n, part.get(n)) for n in ("trades", *objectives) for part in both)
        table.add_row(str(index), *cells)
    return table


def describe_exits(ledgers: Sequence[Ledger]) -> str:
    """Count of trades by the reason of their end, in words."""
    reasons = [reason for ledger in ledgers for reason in ledger.reason.tolist()]
    counts = ((name, reasons.count(code)) for code, name in enumerate(REASONS))
    named = [f"{number(count)} by {name.replace('_', ' ')}" for name, count in counts if count]
    return ", ".join(named) or "none ended"


def _describe_doubtful(ledgers: Sequence[Ledger]) -> Iterator[str]:
    """Stops that no price reaches, as that of a share above 1, and days that end at once."""
    count, session = sum(map(len, ledgers)), REASONS.index("session")
    trades = format_count(count, "trade")
    unreached = sum(int((ledger.stop <= 0).sum()) for ledger in ledgers)
    if unreached:
        yield f"{number(unreached)} of {trades} had a stop at 0 or below"
    at_once = sum(
        int(((ledger.reason == session) & (ledger.exit_bar == ledger.entry_bar)).sum())
        for ledger in ledgers
    )
    if at_once > count / 10:
        yield (
            f"{number(at_once)} of {trades} left by the session in the bar of their entry; a "
            "session that begins in the evening is session_exit(..., begins=1080) for 18:00"
        )


if TYPE_CHECKING:
    from engine.reference_intrabar import Intrabar
    from optimizer.report.run import Single
    from optimizer.run.points import Importance

COLOURS = {
    "invalid": "red",
    "too_little": "red",
    "luck": "red",
    "lost": "red",
    "not_judged": "yellow",
    "weak": "yellow",
    "holds": "cyan",
    "robust": "cyan",
}
"""Of each grade; never the only sign of it."""


def result_json(result: RunResult, judgement: Judgement | None) -> Mapping[str, object]:
    """A result behind its judgement, before its summary.

    Where there is no judgement, it stands behind such a verdict, and the pick.
    """
    verdict: dict[str, object] = {"verdict": derive_verdict(result, None).payload()}
    if judgement is None and (pick := find_pick(result, None)) is not None:
        verdict["pick"] = pick.payload()
    judged = {"expected": None, **(judgement.payload() if judgement else verdict)}
    summary = [fact._asdict() for fact in summarize_result(result, judgement)]
    return {"judgement": judged, **result.payload(), "summary": summary}


def print_result(result: RunResult, judgement: Judgement | None, *, is_whole: bool) -> None:
    """Print the front, its certificate and its folder; `print_answer` follows.

    With `is_whole` all members, else `SHOWN_MEMBERS` of them.
    """
    console, facts = stdout(), summarize_result(result, judgement)
    pick = find_pick(result, judgement)
    if result.resumed:
        console.say(f"run {result.run} had {result.resumed}; this is its result")
    searched, (tried, *found, certificate) = select(facts, "asked")[0], select(facts, "found")
    console.say(searched.value)
    console.say(f"{tried.value}, {tried.note}")
    console.say_all(map(format_fact, found))
    console.print()
    if result.front:
        is_marked = pick is not None and not _is_stitched(judgement)
        chosen = pick.member if pick is not None and is_marked else None
        if _is_stitched(judgement):
            console.say("One search over all bars, which the verdict is not about:")
        _print_front(console, result, judgement, facts, chosen, is_whole=is_whole)
    else:
        _say_empty(console, result)
    console.print()
    console.say(format_fact(certificate))
    console.say(f"front {result.front_hash[:12]}, recorded in {result.path}")


def format_fact(fact: Fact) -> str:
    """A fact as a line."""
    note = f" ({fact.note})" if fact.note else ""
    return f"{fact.label.lower()}: {fact.value}{note}"


def _is_stitched(judgement: Judgement | None) -> bool:
    """True if the verdict is about the account of all steps of a schedule."""
    return judgement is not None and judgement.schedule is not None


def _say_empty(console: Lines, result: RunResult) -> None:
    """Say why a front is empty, what came nearest, and what to change."""
    failures, nearest = result.infeasible, result.nearest
    console.say("No candidate is feasible: the front is empty.")
    console.say(describe_failures(failures, sum(failures.values())))
    if nearest is not None:
        console.say(describe_nearest(failures, nearest.metrics, nearest.undefined, result.formulas))
    metrics, undefined = ({}, {}) if nearest is None else (nearest.metrics, nearest.undefined)
    is_silent = all(window.silent == window.bars for window in result.data.windows)
    console.say(advise(failures, metrics, undefined, is_silent=is_silent))
    for table in () if nearest is None else genes_tables({0: nearest}, console.width):
        console.print()
        console.say("Genes of the nearest", style="italic")
        table.title = None
        console.print(table)


def print_answer(result: RunResult, judgement: Judgement | None) -> None:
    """Print the last lines, which a person reads first: verdict, pick, next step."""
    console, facts = stdout(), summarize_result(result, judgement)
    console.print()
    print_verdict(console, facts)
    for fact in select(facts, "subject", "expected"):
        console.say(f"{fact.label}: {fact.value}")
    console.say_all(fact.value for fact in _find(facts, "return"))
    console.say_all(f"Next: {fact.value}" for fact in select(facts, "next"))


def print_verdict(console: Lines, facts: Sequence[Fact]) -> None:
    """Print verdict and reasons."""
    (verdict,) = select(facts, "verdict")
    console.say(f"{verdict.note}{verdict.value}", style=f"bold {COLOURS[verdict.tone]}")
    console.say_all(f"  {reason.value}" for reason in select(facts, "reason"))


def _find(facts: Sequence[Fact], label: str) -> list[Fact]:
    return [fact for fact in facts if fact.label == label]


def _say_apart(console: Lines, facts: Sequence[Fact], label: str) -> None:
    for fact in _find(facts, label):
        console.print()
        console.say(fact.value)


def _print_front(
    console: Lines,
    result: RunResult,
    judgement: Judgement | None,
    facts: Sequence[Fact],
    pick: int | None,
    *,
    is_whole: bool,
) -> None:
    """Members, their genes and held-out bars, and the first member window by window."""
    most, data = len(result.front) if is_whole else SHOWN_MEMBERS, result.data
    members = find_differing(result.front, result.objectives, pick, most)
    title = front_title(len(result.front), len(members), pick)
    title += "".join(f"; {fact.value}" for fact in _find(facts, "Numbers"))
    console.say(title, style="italic")
    expected = expect_members(result, judgement, members)
    console.print(*front_tables(members, result.objectives, console.width, pick, expected))
    console.say_all(describe_formulas(result.formulas))
    for number_of, member in members.items():
        if member.gone:
            console.say(f"Member {number_of} is no result: {describe_gone(member.gone)}.")
    for table in genes_tables(members, console.width):
        console.print()
        console.print(table)
    _say_apart(console, facts, "bound")
    if result.front[0].held_out is not None:
        console.print()
        console.print(held_out_table(members, result.objectives))
    elif data.held_out_bars:
        _say_apart(console, facts, CLOSED)
    if len({window.label for window in data.windows}) > 1:
        metrics = [metric for name in result.objectives if (metric := find_metric(name))]
        by_window = {name: members[0].by_window.get(name, ()) for name in ("trades", *metrics)}
        # Held-out windows come last, and are left out.
        windows = data.windows[: len(by_window["trades"])]
        noun = choose_noun(data.windows)
        title = f"Member 0, {noun} by {noun}"
        if windows:
            console.print()
            console.print(windows_table(windows, by_window, title))


BY_WINDOW = ("trades", "sum_r", "sharpe_trade", "total_return", "max_drawdown")
"""Metrics that are shown window by window."""


def print_ends(console: Lines, single: "Single") -> None:
    """Print the ends of trades, and doubts about them."""
    # It compiles, which showing a run does not need.
    from optimizer.run.backtest import describe_orders

    task, record = single.task, single.record
    places = task.markets.places("search")
    searched = [single.ledgers[w] for w in places]
    n_short = sum(int((ledger.side < 0).sum()) for ledger in searched)
    n_long = sum(map(len, searched)) - n_short
    console.say(f"\n{number(n_long)} long, {number(n_short)} short; {describe_exits(searched)}")
    console.say_all(describe_orders(task.spec, searched))
    n_symbols = len({task.markets.symbols[w] for w in places})
    limits = name_limits(task.costs.max_positions, task.costs.max_leverage)
    console.say_all(describe_account(record, n_symbols, limits=limits))
    if record.held_out is not None:
        console.say_all(f"Held-out bars: {line}" for line in list_caveats(record.held_out))
    console.say_all(list_doubts(searched, record.contradictions, task.costs.min_risk))
    console.say(_describe_intrabar(record.intrabar))


def list_doubts(ledgers: Sequence[Ledger], contradictions: int, min_risk: float) -> Iterator[str]:
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
    yield from _describe_doubtful(ledgers)


def _describe_intrabar(intrabar: "Intrabar") -> str:
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


def print_backtest(console: Lines, single: "Single") -> None:
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
