"""From genomes to work, in the fast case: which rows it reads, and in which order to go."""

from collections.abc import Iterator, Sequence

import numpy as np

from engine.backend import Floats, Ints, RowForm, RowRequest, Slots
from engine.fast_case import FastCase, Row
from engine.indicators.row_bank import RowBank, RowName, RowRead


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


def group_rows(names: Sequence[RowName], slots: Ints | None = None) -> list[RowRequest]:
    """Rows by their forms, and where they go, [n]; without slots the first goes to 0, and so on."""
    slots = np.arange(len(names)) if slots is None else slots
    of_form: dict[RowForm, list[int]] = {}
    for index, (form, _) in enumerate(names):
        of_form.setdefault(form, []).append(index)
    return [
        RowRequest(form, np.array([names[index][1] for index in indices]), slots[indices])
        for form, indices in of_form.items()
    ]


def bring_in_parts(
    case: FastCase, bank: RowBank, genomes: Floats, most: int | None
) -> Iterator[tuple[Ints, Slots]]:
    """Split a population [P, G] into parts of at most `most`, with rows that fit the bank.

    Yields places of a part's individuals, and slots of their rows, valid until the next
    part is made. The bank holds one individual's rows.
    """
    order, most = order_individuals(case, genomes), most or max(len(genomes), 1)
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


def order_individuals(case: FastCase, genomes: Floats) -> Ints:
    """Sort by the rows that every bar is compared with, so that neighbours share them."""
    genes = case.layout.names
    compared = [case.row_index[pair.left] for pair in case.entry if pair.right in genes]
    columns = length_columns(case)
    columns = columns[compared] if compared else columns
    lengths = genomes[:, columns[columns >= 0][::-1]]
    return np.lexsort(lengths.T) if lengths.shape[1] else np.arange(len(genomes))
