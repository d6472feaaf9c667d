"""Payments of bars, and money settings so large that a person has to allow them."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

import numpy as np

from data import Bars
from data.checks import format_time
from data.point_in_time import DatedNumbers
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.formatting import format_count
from strategy.expressions import GeneValue, Number
from strategy.forms import EquityShare, Payment, RiskOf
from strategy.model import Strategy
from strategy.nodes import Node, walk
from strategy.pretty_print import format_tree

LARGEST_RATE = 0.1
"""Share of the price above which a payment is likely meant in percent."""

LARGEST_STAKES: dict[type[Node], float] = {EquityShare: 10.0, RiskOf: 0.2}
"""Shares of the cash above which a size is likely a slip."""


def with_payments(
    bars: Bars, name: str, path: str, numbers: DatedNumbers, *, trusts_rates: bool
) -> Bars:
    """Bars that pay by a column's numbers, with a note of times in which nothing is charged.

    Raises:
        ConfigError: When a rate is not to be trusted, or no position could pay any of them.
    """
    where, payments = f"--column-file {name}: {path}", numbers.as_payments()
    first_ns, last_ns = int(payments.timestamp[0]), int(payments.timestamp[-1])
    paying = replace(bars, payments={**bars.payments, name: payments})
    paid = paying.payments[name]
    if not len(paid.rates):
        raise ConfigError(
            f"{where} pays from {format_time(first_ns)} to {format_time(last_ns)}, and no bar of "
            f"{bars.symbol} can be charged: name a file of payments from within these bars' time"
        )
    largest = int(np.abs(paid.rates).argmax())
    if abs(paid.rates[largest]) > LARGEST_RATE and not trusts_rates:
        raise ConfigError(
            f"{where} pays {paid.rates[largest]:g} at {format_time(paid.timestamp[largest])}, "
            f"more than {LARGEST_RATE:g} of the price: write rates as fractions, 0.0001 for "
            "0.01 %, or add --trust-rates"
        )
    step_ns = int(np.median(np.diff(payments.timestamp))) if len(payments.rates) > 1 else 0
    free = (bars.timestamp < first_ns - step_ns) | (bars.timestamp > last_ns + step_ns)
    lines = []
    beyond = (payments.timestamp < bars.timestamp[0]) | (payments.timestamp > bars.timestamp[-1])
    if beyond.any():
        total = format_count(len(payments.rates), "payment")
        lines.append(
            f"{int(beyond.sum()):,} of {total} are charged to no bar: they come before the first "
            "or after the last one opens"
        )
    if free.any():
        lines.append(
            f"at {format_count(int(free.sum()), 'bar')} before {format_time(first_ns)} or after "
            f"{format_time(last_ns)} nothing is charged"
        )
    notes = [f"column '{name}': {'; '.join(lines)}"] if lines else []
    return replace(paying, notes=(*bars.notes, *notes))


def check_money(spec: Strategy, config: RunConfig) -> None:
    """Refuse rates and sizes that are not to be trusted, and a stake beside an account's.

    Raises:
        ConfigError: In one line, with the flag that says they are meant.
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
