"""The reference in each of its forms, and every backend; one that is absent is skipped."""

import pytest

from data.bars import Window
from engine.accounts.ledger import REASONS
from engine.batch import Engine
from engine.devices import BACKENDS, why_absent
from engine.reference import Reference
from engine.replay.parity import compare_ledgers
from engine.runtime.compiling.forms import CompiledForm
from strategy.rows import as_it_reads

FORMS = {"reference": as_it_reads, "compiled_reference": CompiledForm()}
"""By the names that tests have for them."""


def compiled_reference(*arguments):
    """A reference whose loops are compiled, for markets on which plain Python takes long."""
    return Reference(*arguments, form=FORMS["compiled_reference"])


def create_engine(name, strategy, series, windows, costs=None):
    """The engine of a name: the reference in one of its forms, or a backend."""
    if name in FORMS:
        return Reference(strategy, series, windows, costs, form=FORMS[name])
    return Engine(strategy, series, windows, costs, device=name)


def trade_once(strategy, series, windows=None, costs=None, **genes):
    """Ledgers of a strategy with its default genes or others, by the reference and on cores."""
    windows = windows or [Window.whole(bars, number) for number, bars in enumerate(series)]
    asked, genome = (strategy, series, windows, costs), strategy.layout.encode(genes)
    ledgers = Reference(*asked).trades(genome)
    for expected, actual in zip(ledgers, Engine(*asked, device="cpu").trades(genome), strict=True):
        assert compare_ledgers(expected, actual) == ""
    return ledgers


def list_trades(ledger, *names):
    """Fields of each trade of a ledger, the reason in words."""
    trades = [ledger.trade(k)._asdict() for k in range(len(ledger))]
    named = [trade | {"reason": REASONS[trade["reason"]]} for trade in trades]
    return [tuple(trade[name] for name in names) for trade in named]


def _parameter(name):
    marks = [] if name == "cpu" else [pytest.mark.gpu]
    reason = why_absent(name)
    if reason:
        marks.append(pytest.mark.skip(reason=f"no {name} device: {reason}"))
    return pytest.param(name, marks=marks)


BACKEND_PARAMETERS = [_parameter(name) for name in sorted(BACKENDS)]

ENGINE_PARAMETERS = [*map(pytest.param, FORMS), *BACKEND_PARAMETERS]
"""The reference in each of its forms, and every backend."""
