"""From genomes to work: which distinct rows a population needs, and in which order to go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.contract import Form
from strategy.genes import Floats
from strategy.spec import StrategySpec

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Distinct rows of one form.

    Args:
        form: Indicator and source.
        lengths: [n, L] lengths in bars, each row of it distinct.
    """

    form: Form
    lengths: Ints


@dataclass(frozen=True, eq=False)
class Plan:
    """The rows of a population.

    Args:
        groups: Distinct rows; counted through, group after group, they are the rows 0 .. I - 1.
        row_of: [P, R] number of each row of the spec, for each individual.
        order: [P] a permutation that brings individuals with common rows together.
    """

    groups: tuple[RowGroup, ...]
    row_of: Ints
    order: Ints

    @property
    def n_rows(self) -> int:
        """I, the number of distinct rows."""
        return sum(len(group.lengths) for group in self.groups)


def plan_rows(spec: StrategySpec, genomes: Floats) -> Plan:
    """Find the distinct rows that a population needs.

    Args:
        spec: The strategy.
        genomes: [P, G], legal.

    Returns:
        The plan; it depends on nothing but its arguments.
    """
    places: dict[Form, list[int]] = {}
    for place, row in enumerate(spec.rows):
        places.setdefault(Form.of(row), []).append(place)
    groups: list[RowGroup] = []
    row_of = np.empty((len(genomes), len(spec.rows)), np.int64)
    n_rows = 0
    for form, of_form in places.items():
        lengths = np.concatenate([_lengths(spec, genomes, place) for place in of_form])  # [n P, L]
        distinct, inverse = _distinct(lengths)
        row_of[:, of_form] = inverse.reshape(len(of_form), -1).T + n_rows
        n_rows += len(distinct)
        groups.append(RowGroup(form, distinct))
    return Plan(tuple(groups), row_of, _order(spec, row_of))


def only_columns(columns: Sequence[Sequence[int]]) -> Ints | None:
    """The gene [R] that is each row's length, -1 for none; None when a row has several."""
    if any(len(of_row) > 1 for of_row in columns):
        return None
    return np.array([of_row[0] if of_row else -1 for of_row in columns], np.int64)


def plan_chunks(
    spec: StrategySpec, genomes: Floats, capacity: int, most: int | None
) -> Iterator[tuple[Ints, Plan]]:
    """Split a population into parts whose rows fit a bank.

    Args:
        spec: The strategy.
        genomes: [P, G], legal.
        capacity: Rows that the bank holds, enough for one individual.
        most: Most individuals of a part; no limit when None.

    Yields:
        Places of a part's individuals, and its plan.
    """
    whole = plan_rows(spec, genomes)
    most = most or max(len(genomes), 1)
    if whole.n_rows <= capacity and len(genomes) <= most:
        yield np.arange(len(genomes)), whole
        return
    # Neighbours in the plan's order share rows, so that a part needs as few as possible.
    waiting = [whole.order[i : i + most] for i in range(0, len(genomes), most)][::-1]
    while waiting:
        members = waiting.pop()
        plan = plan_rows(spec, genomes[members])
        if plan.n_rows <= capacity:
            yield members, plan
        else:
            half = len(members) // 2
            waiting += [members[half:], members[:half]]


def _lengths(spec: StrategySpec, genomes: Floats, place: int) -> Ints:
    columns = [spec.layout.index(name) for name in spec.rows[place].lengths]
    return genomes[:, columns].astype(np.int64)


def _distinct(lengths: Ints) -> tuple[Ints, Ints]:
    """Distinct rows of lengths [N, L], and for each of the N its place among them."""
    if lengths.shape[1] == 0:
        return np.zeros((1, 0), np.int64), np.zeros(len(lengths), np.int64)
    if lengths.shape[1] == 1:
        values, inverse = np.unique(lengths[:, 0], return_inverse=True)
        return values[:, None], inverse
    return np.unique(lengths, axis=0, return_inverse=True)


def _order(spec: StrategySpec, row_of: Ints) -> Ints:
    """Sort by the rows that every bar is compared with, so that neighbours share them."""
    compared = [
        spec.row_index[comparison.left]
        for comparison in spec.entry
        if comparison.right in spec.layout.names
    ]
    columns = compared or list(range(row_of.shape[1]))
    order: Ints = np.lexsort(tuple(row_of[:, column] for column in reversed(columns)))
    return order
