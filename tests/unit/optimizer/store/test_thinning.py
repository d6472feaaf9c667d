"""The oldest populations give way when a run has a budget."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from optimizer.store import RunStore, estimate_bytes
from optimizer.store.database import sum_population_bytes
from optimizer.store.listing import DATABASE
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    assert_same_population,
    assert_sound,
    fill,
    make_generation,
)

RUN = "run-1"

BEST = np.zeros(1, dtype=np.int64)
"""Who is a population of its own front."""


def list_kept(store):
    """How much is kept of each generation, by first letters: whole, front or summary."""
    return "".join(summary.kept[0] for summary in store.generations())


WHOLE = 6 * (8 * (2 + 2 + 1 + 4) + 2) + 16 + 3 * (8 * (2 + 2 + 1 + 4) + 2) + 3 * 8
"""Bytes of a generation of `make_generation`: population, archive, and memory of the search."""


@pytest.mark.parametrize("group", [1, 3, 12], ids=lambda size: f"groups of {size}")
@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (12 * WHOLE, "w" * 12),
        (12 * WHOLE - 1, "f" + "w" * 11),
        (3 * WHOLE, "s"),
        (0, "s" * 10 + "ww"),
    ],
    ids=["all_fit", "one_too_many", "few_fit", "none_fits"],
)
def test_the_oldest_give_way_beyond_a_budget(tmp_path, budget, expected, group):
    """First to their fronts, then to summaries; the newest two stay, and all of it verifies."""
    with RunStore.create(tmp_path, RUN, HEADER, budget=budget) as store:
        for start in range(0, 12, group):
            fill(store, min(group, 12 - start), start)
        kept = list_kept(store)
        assert kept.startswith(expected)
        assert kept == "".join(sorted(kept, key="sfw".index))
        assert kept.endswith("ww")
        assert_sound(store, 11)
    assert taken_by_populations(tmp_path / RUN) <= max(budget, 2 * WHOLE)
    with RunStore.open(tmp_path / RUN, writable=True) as store:
        fill(store, 3, start=12)
        assert list_kept(store).endswith("ww")
        assert_sound(store, 14)
    assert taken_by_populations(tmp_path / RUN) <= max(budget, 2 * WHOLE)


def taken_by_populations(path):
    """Bytes of all populations in a run."""
    with closing(sqlite3.connect(path / DATABASE)) as database:
        return sum_population_bytes(database)


@pytest.mark.parametrize("budget", [0, 20_000, 10**9])
def test_a_budget_bounds_the_estimate(tmp_path, budget):
    """With it a run takes no more than was estimated, however many generations there are."""
    with RunStore.create(tmp_path, RUN, HEADER, budget=budget) as store:
        for number in range(200):
            store.record(make_generation(number, individuals=37))
    taken = sum(file.stat().st_size for file in (tmp_path / RUN).iterdir())
    estimate = estimate_bytes(37, 2, 2, 199, budget=budget)
    assert taken <= estimate <= estimate_bytes(37, 2, 2, 199)


def test_a_population_that_is_all_front_stays_as_its_front(tmp_path):
    """What is left of it is sound, without the state that only a whole generation has."""
    whole = [
        replace(make_generation(n), population=make_generation(n).population.take(BEST))
        for n in range(4)
    ]
    with RunStore.create(tmp_path, RUN, HEADER, keep="front") as store:
        for generation in whole:
            store.record(generation)
        store.flush()
        assert list_kept(store) == "ffww"
        assert [summary.front for summary in store.generations()] == [len(BEST)] * 4
        assert store.verify() == []
        assert_same_population(whole[1].population, store.front(1))
        assert_same_generation(whole[3], store.last_generation())
    with closing(sqlite3.connect(tmp_path / RUN / DATABASE)) as connection:
        states = connection.execute("SELECT LENGTH(state) FROM generation ORDER BY number")
        assert [size > 0 for (size,) in states] == [False, False, True, True]
