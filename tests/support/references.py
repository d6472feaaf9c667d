"""The reference in each of its forms."""

import numpy as np

from engine.accounts.reference import Sized, fold_results, take_turns
from engine.accounts.stake import plain_stake
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from strategy.rows import as_it_reads

FORMS = {"reference": as_it_reads, "compiled_reference": CompiledForm()}
"""By the names that tests have for them."""


def compiled_reference(*arguments):
    """A reference whose loops are compiled, for markets on which plain Python takes long."""
    return Reference(*arguments, form=FORMS["compiled_reference"])


def fold_plain(form, r, sides, risk_fraction):
    """Sums of results [K] that each risk a share of equity, by one form of the reference."""
    nothing = np.empty(len(r))
    legs, scale, is_margin = np.empty((len(r), 0)), np.empty(0), np.zeros(len(r), np.bool_)
    trades = Sized(r, sides, nothing, nothing, nothing, legs, scale, is_margin)
    return form(fold_results)(trades, plain_stake(risk_fraction), take_turns(len(r)))
