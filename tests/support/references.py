"""The reference in each of its forms."""

import numpy as np

from data.bars import Window
from engine.accounts.reference import Sized, fold_results, take_turns
from engine.accounts.stake import plain_stake
from engine.batch import Engine
from engine.reference import Reference
from engine.replay.parity import compare_ledgers
from engine.runtime.compiling.forms import CompiledForm
from strategy.rows import as_it_reads

FORMS = {"reference": as_it_reads, "compiled_reference": CompiledForm()}
"""By the names that tests have for them."""


def compiled_reference(*arguments):
    """A reference whose loops are compiled, for markets on which plain Python takes long."""
    return Reference(*arguments, form=FORMS["compiled_reference"])


def trade_once(strategy, series, windows=None, costs=None):
    """Ledgers of a strategy with its default genes, the same by the reference and on cores."""
    windows = windows or [Window.whole(bars, number) for number, bars in enumerate(series)]
    asked, genome = (strategy, series, windows, costs), strategy.layout.defaults
    ledgers = Reference(*asked).trades(genome)
    for expected, actual in zip(ledgers, Engine(*asked, device="cpu").trades(genome), strict=True):
        assert compare_ledgers(expected, actual) == ""
    return ledgers


def fold_plain(form, r, sides, risk_fraction):
    """Sums of results [K] that each risk a share of equity, by one form of the reference."""
    nothing = np.empty(len(r))
    legs, scale, is_margin = np.empty((len(r), 0)), np.empty(0), np.zeros(len(r), np.bool_)
    trades = Sized(r, sides, nothing, nothing, nothing, legs, scale, is_margin)
    return form(fold_results)(trades, plain_stake(risk_fraction), take_turns(len(r)))
