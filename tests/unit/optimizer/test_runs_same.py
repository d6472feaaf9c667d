"""Resuming under other circumstances: refused where it decides results, noted where not."""

import copy

import numpy as np
import pytest

from optimizer.errors import StoreError
from optimizer.runs import compare_headers, require_same

HEADER = {
    "data_hash": "aa",
    "seed": 7,
    "genes": [{"name": "ema_fast", "low": 12, "high": 192}],
    "costs": {"fee_bp": 5.0},
    "config": {"population": 64, "threads": 2, "runs": "/a", "device": "cpu"},
    "objectives": ["sharpe", "max_drawdown"],
    "engine_version": "1",
    "versions": {"numpy": "2.0", "engine": "1"},
    "device": "cpu",
    "created_at": "2026-11-21T09:30:15+00:00",
    "generations": 10,
}


def changed(*path, to):
    """The header with one field changed."""
    header = copy.deepcopy(HEADER)
    place = header
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return header


def test_equal_headers_pass():
    """Nothing differs, nothing is noted; tuples and NumPy numbers are what they read back as."""
    present = changed("objectives", to=("sharpe", "max_drawdown"))
    present["seed"] = np.int64(7)
    assert require_same(HEADER, present) == ()


@pytest.mark.parametrize(
    ("path", "to", "line"),
    [
        (("data_hash",), "bb", "data_hash: recorded 'aa', now 'bb'"),
        (("seed",), 8, "seed: recorded 7, now 8"),
        (("genes", 0, "high"), 193, "genes.ema_fast.high: recorded 192, now 193"),
        (("genes", 0, "name"), "ema", "genes.0.name: recorded 'ema_fast', now 'ema'"),
        (("costs", "fee_bp"), 5.5, "costs.fee_bp: recorded 5.0, now 5.5"),
        (("config", "population"), 65, "config.population: recorded 64, now 65"),
        (("objectives",), ["sharpe"], "objectives: recorded"),
        (("engine_version",), "2", "engine_version: recorded '1', now '2'"),
        (("versions", "engine"), "2", "versions.engine: recorded '1', now '2'"),
        (("something_new",), 1, "something_new: recorded (absent), now 1"),
        (("seed",), True, "seed: recorded 7, now True"),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_what_decides_results_is_refused_with_both_values(path, to, line):
    """Each field that decides results is named with what it was and what it is."""
    with pytest.raises(StoreError) as caught:
        require_same(HEADER, changed(*path, to=to))
    assert line in str(caught.value)
    assert caught.value.exit_code == 4


def test_all_differences_are_told_at_once():
    """Two changed fields are two lines of one error."""
    present = changed("seed", to=8)
    present["data_hash"] = "bb"
    del present["engine_version"]
    with pytest.raises(StoreError) as caught:
        require_same(HEADER, present)
    text = str(caught.value)
    assert "seed" in text
    assert "data_hash" in text
    assert "engine_version: recorded '1', now (absent)" in text


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("device",), "cuda"),
        (("versions", "numpy"), "2.1"),
        (("config", "threads"), 16),
        (("config", "device"), "cuda"),
        (("generations",), 20),
        (("created_at",), "2027-01-01T00:00:00+00:00"),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_what_cannot_change_a_bit_is_noted(path, to):
    """Device, libraries, threads and the number of generations may differ and are told."""
    lines = require_same(HEADER, changed(*path, to=to))
    assert len(lines) == 1
    assert lines[0].startswith(".".join(path) + ": recorded")


def test_long_values_are_cut():
    """A message stays readable whatever the values are."""
    deciding, _ = compare_headers({"data": "x" * 500}, {"data": "y" * 500})
    assert len(deciding[0]) < 200
