"""Questions that mean other than they seem: remarks, a line each, and money that is refused."""

from collections.abc import Iterator
from math import inf

import numpy as np

from data.bars import Bars
from data.timeframe import MINUTE_NS, format_timeframe
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.formatting import format_count, number
from optimizer.run.markets import LARGEST_RATE
from optimizer.search.evolution import Lattice
from strategy.conditions import OverBars
from strategy.expressions import Call, Expression, GeneValue, Number, Setting, holds_row
from strategy.forms import (
    AccountOf,
    EquityShare,
    Ladder,
    LimitAt,
    Payment,
    RiskOf,
    Share,
    Volatility,
    split_sides,
)
from strategy.gene import NEARLY
from strategy.genes import GenomeLayout
from strategy.model import Strategy
from strategy.nodes import Node, walk
from strategy.pretty_print import format_tree
from strategy.rows import Rows, truth
from strategy.series import Series

MOST_NAMED = 3

MOST_READ = 20_000
"""Newest bars on which limits are held against closes."""

LEAST_GAIN = 0.1
"""Units of risk below which a break-even is likely meant as a fraction of the price."""

LARGEST_SHARE = 2.0
"""Share of the price from which on a target is likely meant in percent."""

LARGEST_STAKE = 0.5
"""Share of the cash from which on a loss at each stop is likely meant in percent."""

SIZED = (
    "trades are sized by account(...): equity, return, calmar and max_drawdown are that account's"
)
"""Remarks on an account that sizes trades, beside which other numbers stand."""

LARGEST_STAKES: dict[type[Node], float] = {EquityShare: 10.0, RiskOf: 0.2}
"""Shares of the cash above which a size is likely a slip."""


def question_remarks(
    spec: Strategy, lattice: Lattice | None, timeframe_ns: int, *, is_scaled: bool
) -> tuple[str, ...]:
    """A line for each part of a question that is likely to be misread.

    The strategy is scaled to the bars and has its bounds; `is_scaled` where its lengths were scaled
    from the duration that it names.
    """
    lines = [*_stops(spec, spec.layout), *_break_evens(spec), *_targets(spec), *_stakes(spec)]
    if spec.account is not None:
        lines.append(SIZED)
    if is_scaled:
        lines += _constants(spec, timeframe_ns)
    return (*lines, *(() if lattice is None else _missed_bounds(lattice)))


def limit_remarks(spec: Strategy, bars: Bars) -> Iterator[str]:
    """Limits that most signals place beyond the close, by the default genes on the newest bars.

    Rows of a person's own indicators are not asked.
    """
    sides = zip(split_sides(spec.entry), (spec.long, spec.short), ("long", "short"), strict=True)
    limits = [(form, asks, side) for form, asks, side in sides if isinstance(form, LimitAt)]
    if spec.own or not limits:
        return
    newest = bars.cut(max(len(bars) - MOST_READ, 0), len(bars), finer=None)
    rows, genes = Rows(Series.of(newest)), spec.layout.decode(spec.layout.defaults)
    for form, asks, side in limits:
        if asks is None:
            continue
        apart = rows.values(form.price, genes) - newest.close
        signals = np.flatnonzero(truth(asks, rows, genes) & np.isfinite(apart))
        count = int(((apart > 0.0) if side == "long" else (apart < 0.0))[signals].sum())
        if len(signals) and count > len(signals) / 2:
            where, other = ("above", "below") if side == "long" else ("below", "above")
            yield (
                f"entry={format_tree(form)} lies {where} the close at {number(count)} of "
                f"{format_count(len(signals), 'signal')} of {side}s, and fills at once there: a "
                f"{side}'s limit belongs {other} it, and by_side(long=..., short=...) gives each "
                "side its own"
            )


def late_remarks(spec: Strategy, bars: Bars) -> Iterator[str]:
    """Payments that bars are too long for, and funding known only in the bar that is charged.

    As of limits the newest bars are read, by the default genes, and no indicators of a person's
    own.
    """
    lasts = bars.timeframe_ns / MINUTE_NS
    for node in walk(spec):
        if isinstance(node, Payment) and not node.repeats and lasts > (node.every or lasts):
            yield (
                f"{format_tree(node)}: a bar of {format_timeframe(bars.timeframe_ns)} is charged "
                "once, though more than one payment is due in it: write the rate of a bar and "
                f"leave out every={node.every}"
            )
    charge = spec.funding
    if spec.own or charge is None or charge.every is None or not holds_row(charge.rate):
        return
    newest = bars.cut(max(len(bars) - MOST_READ, 0), len(bars), finer=None)
    assert isinstance(charge.rate, Expression)
    row = Rows(Series.of(newest)).values(charge.rate, spec.layout.decode(spec.layout.defaults))
    due = np.diff(newest.timestamp // (charge.every * MINUTE_NS)) != 0
    changes = (row[1:] != row[:-1]) & ~np.isnan(row[1:] - row[:-1])
    late = int((changes & due).sum())
    if late > changes.sum() / 2:
        all_due = format_count(int(due.sum()), "payment")
        yield (
            f"{format_tree(charge)}: at {number(late)} of {all_due} the rate becomes known "
            "in the bar that is charged, so each is charged one late; "
            'funding(payments("NAME")) charges those of a file at their own times'
        )


def _break_evens(strategy: Strategy) -> Iterator[str]:
    """Gains that are read as a fraction of the price, and count units of risk."""
    gain = strategy.break_even
    if gain is None:
        return
    most, at_most = _find_most(gain, strategy.layout), " at most" * isinstance(gain, GeneValue)
    if 0.0 < most < LEAST_GAIN:
        yield (
            f"break_even={format_tree(gain)} counts units of risk: the stop moves to the entry "
            f"after {number(most)} R{at_most}, which nearly every trade passes; "
            "break_even=1 is a gain as large as the risk"
        )


def _targets(strategy: Strategy) -> Iterator[str]:
    """Targets at a share of the price that is likely a percentage."""
    ladders = (side for part in (strategy.target, strategy.targets) for side in split_sides(part))
    for form in dict.fromkeys(ladders):
        legs = [leg.target for leg in form.legs] if isinstance(form, Ladder) else [form]
        for target in legs:
            if isinstance(target, Share) and isinstance(target.fraction, Number):
                share = target.fraction.value
                if share >= LARGEST_SHARE:
                    yield (
                        f"target={format_tree(target)} lies {number(100 * share)} % from the "
                        f"entry: {number(share)} % is share({number(share / 100)})"
                    )


def _stakes(strategy: Strategy) -> Iterator[str]:
    """Sizes with a loss at a stop that is likely a percentage of the cash."""
    if not isinstance(strategy.account, AccountOf):
        return
    size = strategy.account.stake
    if not isinstance(size, RiskOf | Volatility):
        return
    share = _find_most(size.fraction, strategy.layout)
    if share >= LARGEST_STAKE:
        loses = "a stop" if isinstance(size, RiskOf) else "a move as large as its row"
        at_most = " at most" * isinstance(size.fraction, GeneValue)
        yield (
            f"account(..., {format_tree(size)}) loses {number(100 * share)} % of the cash by "
            f"{loses}{at_most}: {number(share)} % is {number(share / 100)}"
        )


def _constants(strategy: Strategy, timeframe_ns: int) -> Iterator[str]:
    """Numbers of bars that stay as they are written where lengths are scaled."""
    bars_s = timeframe_ns / 1e9
    if strategy.timeframe_s is None or strategy.timeframe_s == bars_s:
        return
    fixed = list(dict.fromkeys(format_tree(node) for node in walk(strategy) if _counts_bars(node)))
    if not fixed and strategy.max_hold is not None and isinstance(strategy.max_hold, Number):
        fixed = [f"max_hold={format_tree(strategy.max_hold)}"]
    if fixed:
        named = ", ".join(fixed[:MOST_NAMED]) + (", ..." if len(fixed) > MOST_NAMED else "")
        timeframe = format_timeframe(round(strategy.timeframe_s * 1e9))
        yield (
            f"lengths are scaled from {timeframe} to {format_timeframe(timeframe_ns)} bars, "
            f"numbers that are written out are not: {named}; write length(...) for the same time "
            "in any bars"
        )


def _counts_bars(node: Node) -> bool:
    """True if a number of bars is written out in it."""
    return isinstance(node, Call | OverBars) and any(
        parameter.is_whole and isinstance(setting, Number) for parameter, setting in node.settings
    )


def _stops(strategy: Strategy, layout: GenomeLayout) -> Iterator[str]:
    """Stops of longs that may lie at 0 or below, where no price ever is."""
    stop, _ = split_sides(strategy.stop)
    if strategy.long is None or not isinstance(stop, Share):
        return
    most, remedy = _find_most(stop.fraction, layout), "a smaller share"
    if isinstance(stop.fraction, GeneValue):
        remedy = f"--bound {stop.fraction.gene.name}=LOW:HIGH"
    if most >= 1:
        yield (
            f"stop={format_tree(stop)} reaches {number(most)}: from 1 on a long's stop lies at 0 "
            f"or below and ends no trade; keep it below 1 with {remedy}"
        )


def _find_most(setting: Setting, layout: GenomeLayout) -> float:
    """The constant, or the high bound of the gene."""
    return layout.gene(setting.gene.name).high if isinstance(setting, GeneValue) else setting.value


def _missed_bounds(lattice: Lattice) -> Iterator[str]:
    """Genes with a last value on a grid below their high bound."""
    for gene, values in zip(lattice.layout.genes, lattice.values, strict=True):
        if len(values) < 2:
            continue
        step = float(values[1] - values[0])
        if gene.high - values[-1] > NEARLY * step:
            yield (
                f"the grid of '{gene.name}' ends at {number(float(values[-1]))}, below its bound "
                f"{number(gene.high)}, which steps of {number(step)} from {number(gene.low)} miss"
            )


def check_money(spec: Strategy, config: RunConfig) -> None:
    """Refuse rates and sizes that are not to be trusted, and a stake beside an account's.

    ConfigError in one line, with the flag that allows them.
    """
    fault = next(_list_faults(spec, config), None)
    if fault is not None:
        raise ConfigError(f"{fault}{spec.place_of()}")


def _list_faults(spec: Strategy, config: RunConfig) -> Iterator[str]:
    for node in walk(spec):
        if isinstance(node, Payment) and not config.trust_rates:
            rate = node.rate
            most = abs(rate.value) if isinstance(rate, Number) else 0.0
            if isinstance(rate, GeneValue):
                gene = spec.layout.gene(rate.gene.name)
                most = max(abs(gene.low), abs(gene.high))
            if most > LARGEST_RATE:
                yield (
                    f"{format_tree(node)} pays {most:g}, more than {LARGEST_RATE:g} of the price "
                    "each time: write a fraction, 0.0001 for 0.01 %, or add --trust-rates"
                )
        # Bounds of a gene say themselves how large a stake is meant.
        size = node.settings[0][1] if isinstance(node, tuple(LARGEST_STAKES)) else None
        limit = LARGEST_STAKES.get(type(node), inf)
        if isinstance(size, Number) and size.value > limit and not config.trust_leverage:
            said, allowed = (
                f"{share:g} times" if limit > 1 else f"{100 * share:g} % of"
                for share in (size.value, limit)
            )
            yield (
                f"{format_tree(node)} stakes {said} the account, more than {allowed} it: write "
                f"{node.label}(0.01) for 1 %, or add --trust-leverage"
            )
    if spec.account is not None and _names_stake(config):
        yield (
            f"--risk-fraction {config.risk_fraction:g} sizes nothing here: account(...) does; "
            "leave it out"
        )


def _names_stake(config: RunConfig) -> bool:
    """True if a stake was chosen; a record and a page of all settings name most knobs."""
    fields, named = RunConfig.model_fields, config.model_fields_set
    is_chosen = "risk_fraction" in named and len(named) < len(fields) / 2
    return is_chosen or config.risk_fraction != fields["risk_fraction"].default
