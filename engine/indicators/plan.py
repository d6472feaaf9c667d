"""From genomes to work: which distinct rows a population needs, and in which order to go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.backend import Floats, Ints, RowForm, RowRequest
from engine.fast_case import FastCase


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Distinct rows of one form."""

    form: RowForm  # indicator and source
    parameters: Floats  # [n, L], each row of it distinct


@dataclass(frozen=True, eq=False)
class RowPlan:
    """The rows of a population."""

    # Distinct rows; counted through, group after group, they are the rows 0 .. I - 1.
    groups: tuple[RowGroup, ...]
    row_of: Ints  # [P, R] number of each row of the fast case, for each individual
    order: Ints  # [P] a permutation that brings individuals with common rows together

    @property
    def n_rows(self) -> int:
        """I, the number of distinct rows."""
        return sum(len(group.parameters) for group in self.groups)


def plan_rows(case: FastCase, genomes: Floats) -> RowPlan:
    """Find the distinct rows that a population [P, G] needs; nothing else decides the plan."""
    rows_of_form: dict[RowForm, list[int]] = {}
    for number, row in enumerate(case.rows):
        rows_of_form.setdefault(row.form, []).append(number)
    groups: list[RowGroup] = []
    row_of = np.empty((len(genomes), len(case.rows)), np.int64)
    n_rows = 0
    for form, of_form in rows_of_form.items():
        parameters = [read_row_parameters(case, number, genomes) for number in of_form]
        distinct, inverse = _distinct(np.concatenate(parameters))  # of [n P, L]
        row_of[:, of_form] = inverse.reshape(len(of_form), -1).T + n_rows
        n_rows += len(distinct)
        groups.append(RowGroup(form, distinct))
    return RowPlan(tuple(groups), row_of, _order(case, row_of))


def read_row_parameters(case: FastCase, place: int, genomes: Floats) -> Floats:
    """Parameters [P, L] of a row, for each individual of genomes [P, G]; L is 1, or 0."""
    length = case.rows[place].length
    if length is None:
        return np.empty((len(genomes), 0))
    if isinstance(length, str):
        return genomes[:, [case.layout.index(length)]]
    return np.full((len(genomes), 1), float(length))


def length_columns(case: FastCase) -> Ints:
    """Gene [R] that is each row's length; -1 for a row without one, -1 - k for the constant k."""
    lengths = [row.length or 0 for row in case.rows]
    columns = [
        case.layout.index(length) if isinstance(length, str) else -1 - length for length in lengths
    ]
    return np.array(columns, np.int64)


def list_warm_ups(requests: Sequence[RowRequest], most: int) -> tuple[Ints, Ints]:
    """Slots [n] of rows, and the bars [n], at most `most`, before the first that may signal."""
    bars = [
        np.minimum(parameters[:, 0].astype(np.int64) - 1, most)
        if parameters.shape[1]
        else np.zeros(len(parameters), np.int64)
        for _, parameters, _ in requests
    ]
    nothing = np.zeros(0, np.int64)
    slots = [request.slots for request in requests]
    return np.concatenate([nothing, *slots]), np.concatenate([nothing, *bars])


def plan_chunks(
    case: FastCase, genomes: Floats, capacity: int, most: int | None
) -> Iterator[tuple[Ints, RowPlan]]:
    """Split a population [P, G] into parts of at most `most`, whose rows fit a bank of `capacity`.

    Yields places of a part's individuals, and its plan. The bank holds one individual's rows.
    """
    whole = plan_rows(case, genomes)
    most = most or max(len(genomes), 1)
    if whole.n_rows <= capacity and len(genomes) <= most:
        yield np.arange(len(genomes)), whole
        return
    # Neighbours in the plan's order share rows, so that a part needs as few as possible.
    waiting = [whole.order[i : i + most] for i in range(0, len(genomes), most)][::-1]
    while waiting:
        members = waiting.pop()
        plan = plan_rows(case, genomes[members])
        if plan.n_rows <= capacity:
            yield members, plan
        else:
            half = len(members) // 2
            waiting += [members[half:], members[:half]]


def _distinct(parameters: Floats) -> tuple[Floats, Ints]:
    """Distinct parameters of rows [N, L], L 1 or 0, and for each of the N its place among them."""
    if parameters.shape[1] == 0:
        return np.zeros((1, 0)), np.zeros(len(parameters), np.int64)
    values, inverse = np.unique(parameters[:, 0], return_inverse=True)
    return values[:, None], inverse


def _order(case: FastCase, row_of: Ints) -> Ints:
    """Sort by the rows that every bar is compared with, so that neighbours share them."""
    if not case.rows:
        return np.arange(len(row_of))
    compared = [
        case.row_index[comparison.left]
        for comparison in case.entry
        if comparison.right in case.layout.names
    ]
    columns = compared or list(range(row_of.shape[1]))
    order: Ints = np.lexsort(tuple(row_of[:, column] for column in reversed(columns)))
    return order
