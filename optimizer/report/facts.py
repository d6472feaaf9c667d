"""Facts about a run, and warnings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.bars import Window
from optimizer.formatting import HELD_OUT, describe_formulas, format_count, minute, number
from optimizer.goals.advice import describe_bounds
from optimizer.report.charts.chart import words
from optimizer.report.orders import Fact, describe_money
from optimizer.report.tables import Tables
from optimizer.run.markets import Markets
from optimizer.store.caveats import list_caveats
from optimizer.store.result import describe_certificate, describe_quality
from optimizer.store.rows import count_rejected
from optimizer.store.windows import describe_windows, list_searched_windows


@dataclass(frozen=True)
class Caution:
    """Something that a reader must know before believing a result."""

    kind: str
    text: str
    is_grave: bool = False  # whether it takes the ground from all results


def list_data_facts(run: Tables) -> list[Fact]:
    """Facts about the bars of the run."""
    facts: list[Fact] = []
    simulated = "simulated: a program invented it" if run.header.is_simulated else "real"
    facts.append(("Data", f"{run.header.data} ({simulated})"))
    if run.bars_problem:
        return [*facts, ("Bars", f"not there: {run.bars_problem}")]
    markets = run.task.markets
    facts.append(
        ("In-sample" if run.is_search else "Range", _format_range(markets, markets.windows))
    )
    if markets.held_out:
        facts.append(("Held out", _format_range(markets, markets.held_out)))
    elif run.header.held_out:
        bars = sum(end - start for start, end in run.header.held_out)
        facts.append(("Held out", f"{format_count(bars, 'bar')}, which nobody has looked at"))
    # Of held-out bars that are closed a result still has what they lack.
    windows = markets.describe() if run.result is None else run.result.data.windows
    over = run.task.goals.over if run.result is None else run.result.over_windows
    if numbers_line := describe_windows(list_searched_windows(windows), over):
        facts.append(("Numbers", numbers_line))
    for line in describe_quality(windows):
        name, _, lacking = line.partition(": ")
        facts.append((name.capitalize(), lacking))
    return facts


def list_search_facts(run: Tables) -> list[Fact]:
    """How it was searched."""
    facts = [("Strategy", run.header.strategy)]
    if run.is_search:
        facts += _summarize_search(run)
    fee, slippage = (number(run.header.costs.get(name)) for name in ("fee_bp", "slippage_bp"))
    unit, least = (run.header.costs.get(name) for name in ("fee_unit", "fee_min"))
    further = f", {number(unit)} a unit" if unit else ""
    further += f", at least {number(least)} a fill" if least else ""
    facts.append(("Costs", f"{fee} bp fee and {slippage} bp slippage a side{further}"))
    if not run.bars_problem:
        facts += describe_money(run.task.spec)
    return facts


def _summarize_search(run: Tables) -> list[Fact]:
    stopped = "generations" if run.result is None else run.result.stopped_by
    ended = f", ended by {words(stopped)}" if stopped != "generations" else ""
    return [
        ("Certificate", describe_comparison(run)),
        ("Objectives", ", ".join(words(name) for name in run.objectives)),
        *[("Formula", line) for line in describe_formulas(run.header.formulas)],
        ("Tried", f"{describe_trials(run)}; seed {run.header.seed}{ended}"),
    ]


def describe_trials(run: Tables) -> str:
    """How many individuals were evaluated, where, and how many of them are distinct."""
    generations = format_count(len(run.summaries), "generation")
    count = sum(summary.evaluated for summary in run.summaries)
    polished = 0 if run.result is None else run.result.polished
    sentence = f"{format_count(count, 'candidate')} evaluated in {generations}"
    if polished:
        sentence += f" and {number(polished)} in polishing, {number(count + polished)} in all"
    trials = None if run.judgement is None else run.judgement.trials
    if trials is not None and trials.evaluated:
        sentence += f"; {number(trials.evaluated)} of them distinct"
    return sentence


def describe_comparison(run: Tables) -> str:
    """Outcome of the comparison with the reference; it is about engines only."""
    if run.result is None:
        return "none: the run is not finished"
    certificate = run.result.certificate
    agree = "disagree" if certificate.mismatches else "agree"
    return f"{describe_certificate(certificate)}: the engines {agree}, which says nothing of luck"


def list_cautions(run: Tables) -> list[Caution]:
    """Everything that speaks against believing a run, the gravest first."""
    listed = [*_list_grave(run), *_list_caveats(run)]
    if run.is_search:
        listed += [*_describe_held_out(run), *_describe_bounds(run), *_list_rejections(run)]
    listed += [Caution("quirk", note) for note in run.header.notes]
    return sorted(listed, key=lambda warning: not warning.is_grave)


def _list_grave(run: Tables) -> list[Caution]:
    listed = [Caution("lost", f"Damaged: {line}.", is_grave=True) for line in run.losses]
    if run.header.is_simulated:
        text = "The market is simulated. Nothing here says anything about a real one."
        listed.append(Caution("simulated", text, is_grave=True))
    if run.status != "finished":
        text = f"The run is {run.status}: this is its newest generation, not its result."
        listed.append(Caution("unfinished", text, is_grave=True))
    if run.bars_problem:
        text = f"The bars could not be loaded, so trades are left out: {run.bars_problem}"
        listed.append(Caution("bars", text, is_grave=True))
    return listed


def _list_caveats(run: Tables) -> list[Caution]:
    """What the pick's return does not tell."""
    member = run.members[0 if run.pick is None else run.pick.member] if run.members else None
    texts = [] if member is None else list_caveats(member)
    return [Caution("return", text, bool(member and member.gone)) for text in texts]


def _describe_held_out(run: Tables) -> list[Caution]:
    """How members did on bars that the search has not seen."""
    if not run.members or f"{HELD_OUT}mean_r" not in run.front:
        return []
    held, count = run.front[f"{HELD_OUT}mean_r"].to_numpy(), len(run.front)
    losing, silent = int((held <= 0).sum()), int(np.isnan(held).sum())
    listed = []
    if losing or silent:
        text = f"Held out, {number(losing)} of {format_count(count, 'member')} lost"
        text += f" and {number(silent)} did not trade." if silent else "."
        listed.append(Caution("held out", text, is_grave=losing + silent == count))
    return listed


def _describe_bounds(run: Tables) -> list[Caution]:
    bounds = dict(zip(run.genes, run.bounds.tolist(), strict=True))
    text = describe_bounds(run.genomes, bounds, run.header.options) if run.members else ""
    return [Caution("bound", text)] if text else []


def _list_rejections(run: Tables) -> list[Caution]:
    counts = count_rejected(run.summaries)
    if not counts:
        return []
    reasons = ", ".join(f"{words(name)} {number(count)}" for name, count in counts.items())
    total = sum(summary.evaluated for summary in run.summaries)
    return [
        Caution("rejected", f"Rejected: {reasons}, of {number(total)} evaluated in generations.")
    ]


def _format_range(markets: Markets, windows: Sequence[Window]) -> str:
    """From when to when windows reach, and how many bars they have."""
    series = markets.series
    first = min(int(series[w.series].timestamp[w.start]) for w in windows)
    last = max(int(series[w.series].timestamp[w.end - 1]) for w in windows)
    bars = sum(len(window) for window in windows)
    symbols = {markets.names[window.series] for window in windows}
    noun = "symbol" if len(symbols) == len(windows) else "window"
    many = f" in {format_count(len(windows), noun)}" if len(windows) > 1 else ""
    held = f"{format_count(bars, 'bar')} of {markets.timeframe}{many}"
    return f"{minute(first)} to {minute(last)} UTC, {held}"
