"""From genomes to work: which distinct rows a population needs, and in which order to go."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine.contract import Floats, Form, Ints
from strategy.narrow import AnyStrategy


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Distinct rows of one form.

    Args:
        form: Indicator and source.
        parameters: [n, L], each row of it distinct.
    """

    form: Form
    parameters: Floats


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
        return sum(len(group.parameters) for group in self.groups)


def plan_rows(spec: AnyStrategy, genomes: Floats) -> Plan:
    """Find the distinct rows that a population [P, G] needs; nothing else decides the plan."""
    places: dict[Form, list[int]] = {}
    for place, row in enumerate(spec.rows):
        places.setdefault(Form.of(row), []).append(place)
    groups: list[RowGroup] = []
    row_of = np.empty((len(genomes), len(spec.rows)), np.int64)
    n_rows = 0
    for form, of_form in places.items():
        asked = [parameters_of(spec, place, genomes) for place in of_form]
        distinct, inverse = _distinct(np.concatenate(asked))  # of [n P, L]
        row_of[:, of_form] = inverse.reshape(len(of_form), -1).T + n_rows
        n_rows += len(distinct)
        groups.append(RowGroup(form, distinct))
    return Plan(tuple(groups), row_of, _order(spec, row_of))


def parameters_of(spec: AnyStrategy, place: int, genomes: Floats) -> Floats:
    """Parameters [P, L] of a row of the spec, for each individual of genomes [P, G]."""
    given = spec.rows[place].parameters
    found = np.empty((len(genomes), len(given)))
    for column, value in enumerate(given):
        is_gene = isinstance(value, str)
        found[:, column] = genomes[:, spec.layout.index(str(value))] if is_gene else value
    # A zero has no sign: equal keys are one row.
    found += 0.0
    return found


def only_columns(spec: AnyStrategy) -> Ints | None:
    """By what rows are found in a table: the gene [R] that is their one whole parameter.

    -1 for a row without parameters, -1 - k for one with the constant k; None where a row has
    several parameters, or one that need not be whole, and where there are no rows.
    """
    if not spec.rows:
        return None
    columns: list[int] = []
    for row in spec.rows:
        first = row.parameters[0] if row.parameters else 0
        if len(row.parameters) > 1 or any(
            p.least < 0 or not p.is_whole for p in row.kind.parameters
        ):
            return None
        columns.append(spec.layout.index(first) if isinstance(first, str) else -1 - int(first))
    return np.array(columns, np.int64)


def plan_chunks(
    spec: AnyStrategy, genomes: Floats, capacity: int, most: int | None
) -> Iterator[tuple[Ints, Plan]]:
    """Split a population [P, G] into parts of at most `most`, whose rows fit a bank of `capacity`.

    Yields places of a part's individuals, and its plan. The bank holds one individual's rows.
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


def _distinct(parameters: Floats) -> tuple[Floats, Ints]:
    """Distinct rows of parameters [N, L], and for each of the N its place among them."""
    if parameters.shape[1] == 0:
        return np.zeros((1, 0)), np.zeros(len(parameters), np.int64)
    if parameters.shape[1] == 1:
        values, inverse = np.unique(parameters[:, 0], return_inverse=True)
        return values[:, None], inverse
    return np.unique(parameters, axis=0, return_inverse=True)


def _order(spec: AnyStrategy, row_of: Ints) -> Ints:
    """Sort by the rows that every bar is compared with, so that neighbours share them."""
    numbers = {row.name: place for place, row in enumerate(spec.rows)}
    if not numbers:
        return np.arange(len(row_of))
    compared = [
        numbers[comparison.left]
        for comparison in spec.entry
        if comparison.right in spec.layout.names
    ]
    columns = compared or list(range(row_of.shape[1]))
    order: Ints = np.lexsort(tuple(row_of[:, column] for column in reversed(columns)))
    return order
