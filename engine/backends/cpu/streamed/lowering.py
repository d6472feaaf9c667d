"""A strategy lowered for streaming: its rows as numbers, its comparisons by what they need."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.backends.coders import Coder
from engine.backends.contract import Form
from engine.backends.cpu.exact import EMA, KINDS, LEVEL, SMA, ZSCORE
from strategy.spec import StrategySpec

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

KIND, SOURCE, LENGTH = range(3)
LEFT, RIGHT, GENE, SIGN, CODE = range(5)


class Course(NamedTuple):
    """A strategy as arrays.

    Args:
        rows: [R, 3] int64: kind, source, gene of the length or -1.
        early: [E, 5] int64: left row, right row or -1, gene or -1, 1 for ``>`` and -1 for ``<``,
            number of the codes or -1; comparisons that read no EMA.
        late: [F, 5] int64: the same, comparisons that read one.
        scales: [C, 2] float64: low and scale of each codes; those are of levels that are compared
            with genes.
        rolling: [S] int64: sources of means and scores that the entry compares.
        averages: [A] int64: rows that are EMAs, those of one source together.
        warm_columns: [L] int64: genes that are lengths of rows; the longest sets the warm-up.
        stop_row: The row that measures the stop's distance.
        leading: Gene by whose value neighbours share most sums; -1 where there is none.
    """

    rows: Ints
    early: Ints
    late: Ints
    scales: Floats
    rolling: Ints
    averages: Ints
    warm_columns: Ints
    stop_row: int
    leading: int


def course_of(spec: StrategySpec, coders: Mapping[Form, Coder]) -> tuple[Course, list[str]]:
    """Lower a strategy.

    Args:
        spec: The strategy.
        coders: Of the forms that the entry compares.

    Returns:
        Its arrays, and the names of the sources in the order of their numbers.
    """
    sources = list(dict.fromkeys(row.reads for row in spec.rows))
    rows = [
        (
            KINDS[Form.of(row).indicator],
            sources.index(row.reads),
            spec.layout.index(row.lengths[0]) if row.lengths else -1,
        )
        for row in spec.rows
    ]
    tests: dict[bool, list[tuple[int, int, int, int, int]]] = {True: [], False: []}
    scales: list[Coder] = []
    for comparison in spec.entry:
        left = spec.row_index[comparison.left]
        is_gene = comparison.right in spec.layout.names
        right = -1 if is_gene else spec.row_index[comparison.right]
        gene = spec.layout.index(comparison.right) if is_gene else -1
        reads_average = any(rows[row][KIND] == EMA for row in (left, right) if row >= 0)
        sign = 1 if comparison.relation == ">" else -1
        is_coded = is_gene and rows[left][KIND] == LEVEL
        tests[reads_average].append((left, right, gene, sign, len(scales) if is_coded else -1))
        if is_coded:
            scales.append(coders[Form.of(spec.rows[left])])
    # Comparisons of two EMAs first: the first one is the fastest.
    tests[True].sort(
        key=lambda test: test[1] < 0 or any(rows[row][KIND] != EMA for row in test[:2])
    )
    compared = {row for pair in tests.values() for test in pair for row in test[:2] if row >= 0}
    rolling = sorted({rows[row][SOURCE] for row in compared if rows[row][KIND] in (SMA, ZSCORE)})
    averages = sorted(
        (i for i, row in enumerate(rows) if row[KIND] == EMA), key=lambda i: rows[i][SOURCE]
    )
    lengths = {spec.layout.index(name) for row in spec.rows for name in row.lengths}
    scored = [rows[row][LENGTH] for row in sorted(compared) if rows[row][KIND] in (SMA, ZSCORE)]
    course = Course(
        np.array(rows, np.int64).reshape(-1, 3),
        np.array(tests[False], np.int64).reshape(-1, 5),
        np.array(tests[True], np.int64).reshape(-1, 5),
        np.array(scales, np.float64).reshape(-1, 2),
        np.array(rolling, np.int64),
        np.array(averages, np.int64),
        np.array(sorted(lengths), np.int64),
        spec.row_index[spec.bracket.stop_row],
        scored[0] if scored else -1,
    )
    return course, sources
