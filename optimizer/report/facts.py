"""Facts that need bars or the whole record: costs, orders, warnings; and all in a notebook."""

from collections.abc import Iterator
from html import escape

import numpy as np

from optimizer.formatting import describe_formulas, format_count, fraction, number, words
from optimizer.report.account import match_hold
from optimizer.report.schedule import build_schedule_account, find_schedule
from optimizer.report.summary import (
    Fact,
    compare_with_hold,
    describe_row,
    describe_verdict,
    list_bounds,
    list_caveats,
    list_figures,
    list_goals,
    list_quality,
    list_ranges,
    select,
    shorten_verdict,
    summarize_result,
)
from optimizer.report.tables import Tables
from optimizer.report.trades import PAYMENTS
from optimizer.run.backtest import count_orders, list_details
from optimizer.run.tables import find_differing
from optimizer.signals.drift import read_drift
from optimizer.store import RunStore
from optimizer.store.labels import Labels
from optimizer.store.rows import count_rejected
from strategy.model import Strategy
from strategy.pretty_print import format_tree

CHOSEN = (
    "Not what to expect: these are the bars that were searched, where every result is chosen to "
    "look good."
)
"""Heading above the numbers of a search's pick."""

STITCHED = "Each step traded on the bars after its search, which that had not seen."
"""The same of a run with a schedule."""


def summarize(run: Tables) -> list[Fact]:
    """Facts of a run in any state, or of a candidate."""
    facts = list(_list_warnings(run))
    if run.result is None:
        facts += _summarize_unfinished(run)
    else:
        with RunStore.open(run.path) as store:
            drift = read_drift(store)
        facts += [] if drift is None else [describe_row(drift.row)]
        facts += summarize_result(run.result, run.judgement)
    facts += _list_costs(run)
    if run.is_search:
        facts += _list_search(run)
    facts += [Fact("caution", "quirk", note, tone="mild") for note in run.header.notes]
    return [*facts, *_list_bars_figures(run)]


def describe_figures(run: Tables) -> str:
    """Heading above the figures: which bars they are of, and how much R is."""
    share = run.header.costs.get("risk_fraction")
    risk = f"R is what a trade puts at risk, {fraction(share)} of the account." if share else ""
    if not run.bars_problem and run.task.spec.account is not None:
        risk = f"R is what a trade puts at risk; its size is {format_tree(run.task.spec.account)}."
    about = CHOSEN if find_schedule(run) is None else STITCHED
    return " ".join(filter(None, (about if run.is_search else "", risk)))


def _summarize_unfinished(run: Tables) -> Iterator[Fact]:
    """Facts of a candidate, or of the newest generation of a search."""
    yield from describe_verdict(run.verdict)
    yield Fact("asked", "Searched" if run.is_search else "Tried on", _name_bars(run))
    if not run.bars_problem:
        markets = run.task.markets
        windows = markets.describe()
        yield from list_ranges(windows, markets.timeframe)
        yield from list_quality(windows)
    if run.is_search:
        yield from list_goals(run.objectives, describe_formulas(run.header.formulas))
    if run.members:
        is_sized = run.task.spec.account is not None
        yield from list_figures(run.members[0], None, is_sized=is_sized)
        yield from list_caveats(run.members[0])
    if run.is_search:
        bounds = dict(zip(run.genes, run.bounds.tolist(), strict=True))
        yield from list_bounds(run.members, run.genomes, bounds, run.header.options)


def _name_bars(run: Tables) -> str:
    simulated = ", a SIMULATED market" if run.header.is_simulated else ""
    return f"{run.header.strategy} on {run.header.data}{simulated}"


def _list_warnings(run: Tables) -> Iterator[Fact]:
    """Facts that take the ground from all results."""
    texts = [("lost", f"Damaged: {line}.") for line in run.losses]
    if run.header.is_simulated:
        text = "The market is simulated. Nothing here says anything about a real one."
        texts.append(("simulated", text))
    if run.status != "finished":
        text = f"The run is {run.status}: this is its newest generation, not its result."
        texts.append(("unfinished", text))
    if run.bars_problem:
        text = f"The bars could not be loaded, so trades are left out: {run.bars_problem}"
        texts.append(("bars", text))
    yield from (Fact("caution", label, text, tone="grave") for label, text in texts)


def _list_costs(run: Tables) -> Iterator[Fact]:
    costs = run.header.costs
    fee, slippage = (number(costs.get(name)) for name in ("fee_bp", "slippage_bp"))
    unit, least = (costs.get(name) for name in ("fee_unit", "fee_min"))
    further = f", {number(unit)} a unit" if unit else ""
    further += f", at least {number(least)} a fill" if least else ""
    yield Fact("asked", "Costs", f"{fee} bp fee and {slippage} bp slippage a side{further}")
    if not run.bars_problem:
        yield from _describe_money(run.task.spec)


def _describe_money(spec: Strategy) -> Iterator[Fact]:
    """A strategy's market, fills, payments and account, as its file states them."""
    market = spec.market
    if market is not None:
        tick = "" if market.tick is None else f"tick {market.tick}"
        lot = "" if market.lot is None else f"lot {market.lot}"
        point = f"a point is worth {format_tree(market.multiplier)}"
        yield Fact("asked", "Symbol", ", ".join(filter(None, (tick, lot, point))))
    for name, part in (
        ("Slippage of fills", spec.slippage),
        ("Funding", spec.funding),
        ("Borrowing", spec.borrow),
        ("Account", spec.account),
    ):
        if part is not None:
            yield Fact("asked", name, format_tree(part))


def _list_search(run: Tables) -> Iterator[Fact]:
    """Seed and end of a search, and candidates that it rejected."""
    stopped = "generations" if run.result is None else run.result.stopped_by
    ended = f", ended by {words(stopped)}" if stopped != "generations" else ""
    generations = format_count(len(run.summaries), "generation")
    yield Fact("asked", "Search", f"{generations}; seed {run.header.seed}{ended}")
    if counts := count_rejected(run.summaries):
        reasons = ", ".join(f"{words(name)} {number(count)}" for name, count in counts.items())
        total = number(sum(summary.evaluated for summary in run.summaries))
        text = f"Rejected: {reasons}, of {total} evaluated in generations."
        yield Fact("caution", "rejected", text, tone="mild")


def _list_bars_figures(run: Tables) -> Iterator[Fact]:
    """Figures that take trades: holding beside a schedule; orders, ladders and money of a pick."""
    if run.bars_problem or not run.members:
        return
    made = find_schedule(run)
    if made is not None:
        stitched = build_schedule_account(run)
        hold, ends = match_hold(stitched.holding, stitched.curve)
        if hold is not None:
            yield compare_with_hold(made.equity - 1.0, float(hold.value[-1]) - 1.0, ends - 1.0)
    elif run.task.spec.has_orders:
        yield from _list_orders(run, 0 if run.pick is None else run.pick.member)


def _list_orders(run: Tables, member: int) -> Iterator[Fact]:
    task, spec = run.task, run.task.spec
    (ledgers,) = run.engine.ledgers(run.genomes[[member]])
    places = task.markets.places("search")
    details = list_details(task, run.genomes[member], ledgers)
    columns = [details[place].columns for place in places]
    counts = count_orders(spec, [ledgers[place] for place in places])
    if spec.entry is not None:
        note = f"{counts.filled:,} filled, {counts.expired:,} expired, replaced or cancelled"
        yield Fact("figure", "Resting orders", number(counts.placed), note)
    if spec.targets is not None:
        note = "targets reached before the last exit"
        yield Fact("figure", "Partial exits", number(counts.partials), note)
    for name, title in PAYMENTS.items():
        if name in columns[0]:
            paid = float(np.concatenate([part[name] for part in columns]).sum())
            label = f"{title} {'received' if paid < 0.0 else 'paid'}"
            yield Fact("figure", label, f"{number(abs(paid))} R", "over all trades")
    if spec.account is not None:
        used = np.concatenate([part["leverage"] for part in columns])
        note = f"median {number(float(np.median(used)))} of the account" if len(used) else "-"
        most = f"{number(float(used.max(initial=0.0)))} x"
        yield Fact("figure", "Leverage, at most", most, note)


def render_html(run: Tables, labels: Labels) -> str:
    """A run as HTML: the verdict with its next step, numbers of the pick, the best of the front."""
    facts = summarize(run)
    verdict, *_ = select(facts, "verdict")
    steps = [f"<br>Next: {escape(fact.value)}" for fact in select(facts, "next")]
    head = f"{verdict.note}<strong>{escape(verdict.label)}</strong>"
    blocks = [f"<p>{head}<br>{escape(shorten_verdict(verdict))}", *steps, "</p>"]
    if figures := select(facts, "figure"):
        columns = zip(*((fact.label, fact.value, fact.note) for fact in figures), strict=True)
        rows = [
            "".join(f"<{tag}>{escape(text)}</{tag}>" for text in row)
            for tag, row in zip(("th", "td", "td"), columns, strict=True)
        ]
        blocks.append(f"<p>{escape(describe_figures(run))}</p>")
        blocks.append(f"<table><tr>{'</tr><tr>'.join(rows)}</tr></table>")
    pick = None if run.pick is None else run.pick.member
    shown = list(find_differing(run.members, run.objectives, pick))
    front = run.front[[*run.objectives, *run.genes]].iloc[shown]
    more = f", {len(shown)} that differ most" if len(run.members) > len(shown) else ""
    members = f": {format_count(len(run.members), 'member')}{more}" if run.is_search else ""
    texts = (", ".join(labels.tags), labels.note)
    labels_line = "".join(f"<br>{escape(text)}" for text in texts if text)
    blocks.append(f"<p>{escape(run.title)}{members}{labels_line}</p>")
    return "".join([*blocks, front.to_html(float_format="{:.4g}".format)])
