"""What crosses to the device's process and back: to the last bit, and nothing that cannot be."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.constraints import parse_constraints
from optimizer.isolated.plain import (
    COLUMNS,
    generation_of,
    goals_of,
    plain_generation,
    plain_goals,
)
from optimizer.objectives import Goals, parse_objectives
from tests.support.recording import assert_same_generation, made

GENES, OBJECTIVES = 4, 3


@pytest.mark.parametrize("over", ["mean", "worst", "q25"])
@pytest.mark.parametrize("constraints", [[], ["max_drawdown <= 20%", "trades@worst > 3 soft"]])
def test_goals_are_the_same_goals(over, constraints):
    """Told as JSON, however windows and constraints are meant."""
    objectives = parse_objectives("sharpe:min,expectancy,trades@worst")
    goals = Goals(objectives, 7, tuple(parse_constraints(constraints)), over)
    assert goals_of(json.loads(json.dumps(plain_goals(goals)))) == goals


@given(
    st.integers(0, 2**53),
    st.floats(allow_nan=False),
    st.dictionaries(st.text(), st.integers(0, 10**9), max_size=3),
    st.integers(0, 9),
)
def test_generations_are_the_same_generations(number, size, rejected, individuals):
    """Numbers as JSON and arrays as they are, also without anybody."""
    generation = made(number, individuals=individuals, genes=GENES, objectives=OBJECTIVES)
    generation = replace(generation, hypervolume=size, seconds=abs(size), rejected=rejected)
    told, arrays = plain_generation(generation)
    found = generation_of(json.loads(json.dumps(told)), arrays, GENES, OBJECTIVES)
    assert_same_generation(generation, found)
    assert not any(np.shares_memory(array, found.memory) for array in arrays)


def refused(told, arrays):
    """Why a generation is none."""
    with pytest.raises((ValueError, TypeError, KeyError)) as caught:
        generation_of(told, arrays, GENES, OBJECTIVES)
    return str(caught.value)


def test_what_cannot_be_a_generation_is_refused():
    """Arrays of another type, shape or number, and counts that are none."""
    told, arrays = plain_generation(made(3, genes=GENES, objectives=OBJECTIVES))
    assert len(arrays) == 2 * len(COLUMNS) + 1
    for place, array in enumerate(arrays):
        for wrong in (array[:-1], array.view(np.int8), array[None]):
            if place == len(COLUMNS) * 2 and wrong.dtype == np.float64 and wrong.ndim == 1:
                # How long a memory is only the search knows.
                continue
            assert refused(told, [*arrays[:place], wrong, *arrays[place + 1 :]])
        assert refused(told, [*arrays[:place], *arrays[place + 1 :]])
    for name in ("number", "evaluated", "repaired"):
        for value in (-1, "many", 1.5, None):
            assert name in refused({**told, name: value}, arrays)
    for name in told:
        assert name in refused({key: told[key] for key in told if key != name}, arrays)
