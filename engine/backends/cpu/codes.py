"""One-byte codes of rows: most comparisons decided on an eighth of the memory.

A coder is, at each bar, a monotone map from values to 1 .. HIGHEST_CODE; 0 is NaN. If two values
at a bar have different codes, the codes compare as the values do; if the codes are equal, the
values themselves have to be looked at. So a coder can be badly chosen, which costs time, but it
cannot be wrong.

Rows that are compared with a gene share a fixed map over the gene's bounds. Rows that are compared
with each other share a map centred on the first one's source, as wide as that source usually
wanders from its own slow average.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import prange

from engine.backends.contract import Form
from engine.backends.cpu.compiled import compiled, compiled_inline, compiled_parallel
from engine.backends.cpu.types import Codes, Entry, Floats, Ints
from strategy.spec import Comparison, StrategySpec

HIGHEST_CODE = 254

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


def coders_of(spec: StrategySpec) -> dict[Form, Coder]:
    """Choose a coder for each form that the entry compares; forms left out stay exact."""
    coders: dict[Form, Coder] = {}
    bounds: dict[Form, tuple[float, float]] = {}
    for comparison in spec.entry:
        if is_with_gene(spec, comparison):
            gene = spec.layout.gene(comparison.right)
            form = form_of(spec, comparison.left)
            low, high = bounds.get(form, (gene.low, gene.high))
            bounds[form] = (min(low, gene.low), max(high, gene.high))
    for form, (low, high) in bounds.items():
        scale = (HIGHEST_CODE - 1) / (high - low) if high > low else 1.0
        coders[form] = FixedCoder(float(low), scale)
    longest = int(max((gene.high for gene in spec.layout.genes if gene.is_length), default=2))
    for comparison in spec.entry:
        if not is_with_gene(spec, comparison):
            left, right = form_of(spec, comparison.left), form_of(spec, comparison.right)
            coder = coders.get(left, coders.get(right, WanderingCoder(left.source, longest)))
            coders.setdefault(left, coder)
            coders.setdefault(right, coder)
    return coders


def entry_of(spec: StrategySpec, coders: dict[Form, Coder]) -> Entry:
    """The entry conjunction as arrays, each comparison where it is decided fastest."""
    gene_rows: list[tuple[int, int, int]] = []
    row_pairs: list[tuple[int, int, int]] = []
    exact: list[tuple[int, int, int]] = []
    scales: list[Coder] = []
    for comparison in spec.entry:
        is_greater = int(comparison.relation == ">")
        left = spec.row_index[comparison.left]
        left_coder = coders[form_of(spec, comparison.left)]
        if is_with_gene(spec, comparison):
            gene_rows.append((left, spec.layout.index(comparison.right), is_greater))
            scales.append(left_coder)
            continue
        pair = (left, spec.row_index[comparison.right], is_greater)
        is_shared = left_coder == coders[form_of(spec, comparison.right)]
        (row_pairs if is_shared else exact).append(pair)
    return Entry(
        np.array(gene_rows, np.int64).reshape(-1, 3),
        np.array(scales, np.float64).reshape(-1, 2),
        np.array(row_pairs, np.int64).reshape(-1, 3),
        np.array(exact, np.int64).reshape(-1, 3),
    )


def coder_maps(coder: Coder, sources: dict[str, Floats]) -> tuple[Floats, Floats]:
    """Lowest value [T] and codes per unit [T] of a coder on one series."""
    if isinstance(coder, FixedCoder):
        n_bars = sources["close"].size
        return np.full(n_bars, coder.low), np.full(n_bars, coder.scale)
    low, scale = _wandering_maps(sources[coder.source], coder.span)
    return low, scale


def is_with_gene(spec: StrategySpec, comparison: Comparison) -> bool:
    """Whether the right side of a comparison is a gene."""
    return comparison.right in spec.layout.names


def form_of(spec: StrategySpec, row: str) -> Form:
    """Form of a row by its name."""
    return Form.of(spec.rows[spec.row_index[row]])


@compiled_inline
def encode(value: float, low: float, scale: float) -> int:
    """Code of one value; monotone, because each step of it is."""
    if math.isnan(value):
        return 0
    position = (value - low) * scale
    return 1 + int(min(max(position, 0.0), HIGHEST_CODE - 1.0))


@compiled_parallel
def code_rows(slots: Ints, low: Floats, scale: Floats, rows: Floats, codes: Codes) -> None:
    """Codes of the rows in slots [n], into the same slots of codes [slots, T]."""
    for i in prange(slots.size):
        row, out = rows[slots[i]], codes[slots[i]]
        for t in range(row.size):
            out[t] = encode(row[t], low[t], scale[t])


@compiled
def _wandering_maps(source: Floats, span: int) -> tuple[Floats, Floats]:
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
        scale[t] = (HIGHEST_CODE - 1) / (2.0 * width)
    return low, scale
