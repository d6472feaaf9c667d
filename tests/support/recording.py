"""Generations made from their number alone, so that any process knows what was recorded."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from optimizer.search.generation import Generation, Population
from optimizer.store.store import RunStore

HEADER = {
    "created_at": "2026-11-21T09:30:15+00:00",
    "strategy": "seller_exhaustion",
    "data": "sample",
    "data_hash": "c0ffee",
    "seed": 7,
    "generations": 50,
    "genes": [
        {"name": "ema_fast", "kind": "int", "low": 0, "high": 1000},
        {"name": "=z", "kind": "float", "low": 0, "high": 1000},
    ],
    "objectives": ["sharpe", "max_drawdown"],
    "failure_names": ["", "too_few_trades"],
    "versions": {"numpy": "2.0"},
}


def mount(monkeypatch, *mounts):
    """Mount file systems, pairs of a folder and a kind as the kernel names it."""
    listed = [SimpleNamespace(mountpoint=point, fstype=kind) for point, kind in mounts]
    monkeypatch.setattr("psutil.disk_partitions", lambda *, all: listed if all else [])


def make_generation(number, *, individuals=6, genes=2, objectives=2, salt=0):
    """Generation `number`: feasible individuals first, the last third undefined."""
    rng = np.random.default_rng([number, salt])
    values = rng.normal(size=(individuals, objectives))
    violations = np.zeros(individuals)
    undefined = individuals - individuals // 3
    values[undefined:] = np.nan
    violations[undefined:] = rng.integers(1, 9, size=individuals - undefined)
    genomes = rng.integers(1, 100, size=(individuals, genes)).astype(float)
    genomes[:, 1:] += rng.random((individuals, genes - 1))
    failures = (violations > 0).astype(np.int16)
    lineage = rng.integers(0, 99, size=(individuals, 4))
    population = Population(genomes, values, violations, failures, lineage)
    return Generation(
        number=number,
        population=population,
        evaluated=individuals,
        seconds=float(rng.random()),
        repaired=int(rng.integers(0, 5)),
        rejected={"too_few_trades": int(rng.integers(1, 9))},
        archive=population.take(np.arange(individuals // 2)),
        memory=rng.random(3),
        hypervolume=float(rng.random()),
    )


def assert_same_generation(expected, actual):
    """Every bit and every count is the same."""
    assert actual is not None
    assert_same_population(expected.population, actual.population)
    assert_same_population(expected.archive, actual.archive)
    assert expected.memory.tobytes() == actual.memory.tobytes()
    for name in ("number", "evaluated", "seconds", "repaired", "rejected", "hypervolume"):
        assert getattr(expected, name) == getattr(actual, name), name


def assert_same_population(expected, actual):
    """Shapes, dtypes and bits of the columns are the same, NaN included."""
    for name in ("genomes", "objectives", "violations", "failures", "lineage"):
        left, right = getattr(expected, name), getattr(actual, name)
        assert (left.shape, left.dtype) == (right.shape, right.dtype), name
        assert left.tobytes() == right.tobytes(), name


def assert_sound(store, newest):
    """Nothing is wrong, and the newest generation is `newest` with the bits that were recorded."""
    assert store.verify() == []
    assert_same_generation(make_generation(newest), store.last_generation())
    assert store.warnings == ()


def find_damage(path):
    """What a run's `verify` finds."""
    with RunStore.open(path) as store:
        return store.verify()


def fill(store, count, start=0):
    """Record `count` made generations and wait for the disk."""
    for number in range(start, start + count):
        store.record(make_generation(number))
    store.flush()


@contextmanager
def quick_directory():
    """An empty directory, in memory where the system has such a place.

    What a kill or damage does to files is the same there, and no test waits for a disk.
    """
    memory = Path("/dev/shm")
    folder = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="runs-test-", dir=folder) as name:
        yield Path(name)
