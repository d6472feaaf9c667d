"""Coders: monotone maps from values to one byte, so that most comparisons need no float.

A coder is, at each bar, a monotone map from values to 1 .. highest; 0 is NaN. If two values at a
bar have different codes, the codes compare as the values do; if the codes are equal, the values
themselves have to be looked at. So a coder can be badly chosen, which costs time, but it cannot be
wrong.

Rows that are compared with a gene share a fixed map over the gene's bounds. Rows that are compared
with each other share a map centred on the first one's source, as wide as that source usually
wanders from its own slow average.
"""

import math
from typing import NamedTuple

import numpy as np

from engine.backend import Floats, RowForm
from engine.fast_case import Comparison, FastCase
from engine.runtime.compiling.loops import compiled_loop

SPREADS = 4.0
"""Half the width of a wandering map, in mean distances from the slow average."""


class FixedCoder(NamedTuple):
    """The same map at every bar: code 1 at `low`, `scale` codes per unit."""

    low: float
    scale: float


class WanderingCoder(NamedTuple):
    """A map that follows a source; `span` in bars is how slowly its width adapts."""

    source: str
    span: int


Coder = FixedCoder | WanderingCoder


def choose_coders(case: FastCase, highest: int) -> dict[RowForm, Coder]:
    """Choose a coder with codes up to `highest` for each form that the entry compares.

    Two forms share one where their rows are compared with each other.
    """
    coders: dict[RowForm, Coder] = {}
    bounds: dict[RowForm, tuple[float, float]] = {}
    for comparison in case.entry:
        if is_with_gene(case, comparison):
            gene = case.layout.gene(comparison.right)
            form = find_row_form(case, comparison.left)
            low, high = bounds.get(form, (gene.low, gene.high))
            bounds[form] = (min(low, gene.low), max(high, gene.high))
    for form, (low, high) in bounds.items():
        scale = (highest - 1) / (high - low) if high > low else 1.0
        coders[form] = FixedCoder(float(low), scale)
    longest = int(max((gene.high for gene in case.layout.genes if gene.is_length), default=2))
    for comparison in case.entry:
        if not is_with_gene(case, comparison):
            left, right = (
                find_row_form(case, comparison.left),
                find_row_form(case, comparison.right),
            )
            coder = coders.get(left, coders.get(right, WanderingCoder(left.source, longest)))
            coders.setdefault(left, coder)
            coders.setdefault(right, coder)
    return coders


def coder_maps(coder: Coder, sources: dict[str, Floats], highest: int) -> tuple[Floats, Floats]:
    """The map of a coder on one series, with sources [T] by name.

    The value [T] at which code 1 begins, and codes per unit [T], all positive.
    """
    if isinstance(coder, FixedCoder):
        n_bars = sources["close"].size
        fixed = np.array([[coder.low], [coder.scale]])
        low, scale = np.broadcast_to(fixed, (2, n_bars))
        return low, scale
    low, scale = map_wandering(sources[coder.source], coder.span, highest)
    return low, scale


def is_with_gene(case: FastCase, comparison: Comparison) -> bool:
    """True if the right side of a comparison is a gene."""
    return comparison.right in case.layout.names


def find_row_form(case: FastCase, row: str) -> RowForm:
    """Form of a row by its name."""
    return case.rows[case.row_index[row]].form


@compiled_loop
def map_wandering(source: Floats, span: int, highest: int) -> tuple[Floats, Floats]:
    """The map that follows a source [T]: value at which code 1 begins, and codes per unit."""
    low, scale = np.empty(source.size), np.empty(source.size)
    alpha = 2.0 / (span + 1.0)
    slow, spread = source[0], 0.0
    for t in range(source.size):
        value = source[t] if math.isfinite(source[t]) else slow
        slow = slow + alpha * (value - slow)
        spread = spread + alpha * (abs(value - slow) - spread)
        # A source that never moves still needs a width; any positive one keeps the map monotone.
        width = SPREADS * max(spread, 1e-9 * abs(value), 1e-300)
        low[t] = value - width
        scale[t] = (highest - 1) / (2.0 * width)
    return low, scale
