"""From genomes to work: which distinct rows a population needs, and in which order to go."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.backend import Floats, Ints, RowForm, RowRequest, Slots
from engine.fast_case import FastCase, Row
from engine.indicators.row_bank import RowBank, RowName, RowRead


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
    return RowPlan(tuple(groups), row_of, _order(case, genomes))


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


def list_reads(case: FastCase) -> list[RowRead]:
    """The rows of a fast case as a bank knows them: by form and parameters."""
    return [_read(case, row) for row in case.rows]


def _read(case: FastCase, row: Row) -> RowRead:
    if isinstance(row.length, str):
        return RowRead((case.layout.index(row.length),), lambda length: (row.form, length))
    name = row.form, () if row.length is None else (float(row.length),)
    return RowRead((), lambda _: name)


def group_rows(names: Sequence[RowName], slots: Ints) -> list[RowRequest]:
    """Rows that go to slots [n] by their forms."""
    of_form: dict[RowForm, list[int]] = {}
    for place, (form, _) in enumerate(names):
        of_form.setdefault(form, []).append(place)
    return [
        RowRequest(form, np.array([names[place][1] for place in places]), slots[places])
        for form, places in of_form.items()
    ]


def bring_in_parts(
    case: FastCase, bank: RowBank, genomes: Floats, most: int | None
) -> Iterator[tuple[Ints, Slots]]:
    """Split a population [P, G] into parts of at most `most`, whose rows fit the bank.

    Yields places of a part's individuals, and slots of their rows, which are there until the next
    part is asked for. The bank holds one individual's rows.
    """
    order, most = _order(case, genomes), most or max(len(genomes), 1)
    # Neighbours in this order share rows, so that a part needs as few as possible.
    waiting = [order[i : i + most] for i in range(0, len(genomes), most)][::-1]
    while waiting:
        members = waiting.pop()
        slots = bank.bring(genomes[members])
        if slots is not None:
            yield members, slots
        else:
            half = len(members) // 2
            waiting += [members[half:], members[:half]]


def _distinct(parameters: Floats) -> tuple[Floats, Ints]:
    """Distinct parameters of rows [N, L], L 1 or 0, and for each of the N its place among them."""
    if parameters.shape[1] == 0:
        return np.zeros((1, 0)), np.zeros(len(parameters), np.int64)
    values, inverse = np.unique(parameters[:, 0], return_inverse=True)
    return values[:, None], inverse


def _order(case: FastCase, genomes: Floats) -> Ints:
    """Sort by the rows that every bar is compared with, so that neighbours share them."""
    compared = [case.row_index[one.left] for one in case.entry if one.right in case.layout.names]
    columns = length_columns(case)
    columns = columns[compared] if compared else columns
    lengths = genomes[:, columns[columns >= 0][::-1]]
    return np.lexsort(lengths.T) if lengths.shape[1] else np.arange(len(genomes))
