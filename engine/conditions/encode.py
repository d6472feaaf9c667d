"""The entry of a fast case as numbers: what compiled loops and kernels read in place of names."""

from typing import NamedTuple

import numpy as np

from engine.backend import Floats, Ints, RowForm
from engine.fast_case import FastCase
from engine.indicators.coders import Coder, find_row_form, is_with_gene


class Entry(NamedTuple):
    """The entry conjunction as arrays; columns refer to rows and genes of the fast case."""

    genes: Ints  # [C, 3] int64: row, gene, 1 for ``>`` and 0 for ``<``; decided on codes
    scales: Floats  # [C, 2] float64: low and scale of the row's codes
    pairs: Ints  # [D, 3] int64: left row, right row, 1 for ``>`` and 0 for ``<``; decided on codes
    exact: Ints  # [E, 3] int64: the same, for rows with codes of different maps
    warm_rows: Ints  # [L] int64: rows; the longest of their warm-ups is an individual's


def encode_entry(case: FastCase, coders: dict[RowForm, Coder]) -> Entry:
    """The entry conjunction as arrays, each comparison in its fastest place."""
    gene_rows: list[tuple[int, int, int]] = []
    row_pairs: list[tuple[int, int, int]] = []
    exact: list[tuple[int, int, int]] = []
    scales: list[Coder] = []
    for comparison in case.entry:
        is_greater = int(comparison.relation == ">")
        left = case.row_index[comparison.left]
        left_coder = coders[find_row_form(case, comparison.left)]
        if is_with_gene(case, comparison):
            gene_rows.append((left, case.layout.index(comparison.right), is_greater))
            scales.append(left_coder)
            continue
        pair = (left, case.row_index[comparison.right], is_greater)
        is_shared = left_coder == coders[find_row_form(case, comparison.right)]
        (row_pairs if is_shared else exact).append(pair)
    return Entry(
        np.array(gene_rows, np.int64).reshape(-1, 3),
        np.array(scales, np.float64).reshape(-1, 2),
        np.array(row_pairs, np.int64).reshape(-1, 3),
        np.array(exact, np.int64).reshape(-1, 3),
        np.array(_warm_rows(case), np.int64),
    )


def _warm_rows(case: FastCase) -> list[int]:
    """Rows that have a warm-up; one of those with the same length."""
    chosen = {row.length: number for number, row in enumerate(case.rows) if row.length is not None}
    return sorted(chosen.values())
