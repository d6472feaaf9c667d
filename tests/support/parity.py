"""Comparisons of engines that name what differs, where, and both values."""

import numpy as np

from engine.accounts.ledger import ACCUMULATORS
from engine.replay.parity import compare_accumulators, compare_ledgers


def assert_same_bits(expected, actual, what):
    """Both arrays are equal in every bit, NaN included; else show the first ten differences."""
    expected, actual = np.asarray(expected), np.asarray(actual)
    assert expected.shape == actual.shape, f"{what}: {expected.shape} against {actual.shape}"
    assert expected.dtype == actual.dtype, f"{what}: {expected.dtype} against {actual.dtype}"
    known = np.where(np.isnan(expected), 0.0, expected) if expected.dtype.kind == "f" else expected
    other = np.where(np.isnan(actual), 0.0, actual) if actual.dtype.kind == "f" else actual
    is_different = np.ascontiguousarray(known).view(np.uint8).reshape(
        known.size, known.itemsize
    ) != (np.ascontiguousarray(other).view(np.uint8).reshape(other.size, other.itemsize))
    wrong = is_different.any(axis=1).reshape(expected.shape)
    if expected.dtype.kind == "f":
        wrong |= np.isnan(expected) != np.isnan(actual)
    differing = np.argwhere(wrong)
    shown = [(tuple(p), expected[tuple(p)], actual[tuple(p)]) for p in differing[:10]]
    assert not len(differing), (
        f"{what}: {len(differing)} differ, first (place, expected, actual) {shown}"
    )


def assert_same_trades(reference, engine, genomes):
    """Ledgers and accumulators of all individuals are equal in every bit."""
    accumulators = engine.evaluate(genomes)
    assert accumulators.shape == (len(genomes), len(engine.windows), len(ACCUMULATORS))
    listed = list(engine.ledgers(genomes))
    for alone, several in zip(engine.trades(genomes[0]), listed[0], strict=True):
        assert not compare_ledgers(alone, several), "one individual at a time"
    for i, (genome, actual) in enumerate(zip(genomes, listed, strict=True)):
        expected = reference.trades(genome)
        for w, (left, right) in enumerate(zip(expected, actual, strict=True)):
            where = f"individual {i} {engine.spec.layout.decode(genome)}, window {w}"
            problem = compare_ledgers(left, right)
            assert not problem, f"{where}: {problem}"
            problem = compare_accumulators(reference.fold(left, genome), accumulators[i, w])
            assert not problem, f"{where}: {problem}"
    # Ledgers need rows, so that now all of them are there.
    assert_same_bits(accumulators, engine.evaluate(genomes), "with rows")


def assert_same_accounts(expected, actual, genomes):
    """Two engines list the same results of each individual and window, and fold them alike."""
    (left, mine), (right, other) = (engine.list_results(genomes) for engine in (expected, actual))
    assert_same_bits(left, right, "accumulators beside results")
    assert_same_bits(mine.counts, other.counts, "trades of results")
    for index in np.ndindex(mine.counts.shape):
        for name in ("exit_ns", "r", "side"):
            columns = [
                getattr(result, name)[
                    result.firsts[index] : result.firsts[index] + result.counts[index]
                ]
                for result in (mine, other)
            ]
            assert_same_bits(*columns, f"{name} of {index}")
    folded = [engine.evaluate_account(genomes) for engine in (expected, actual)]
    for result, another in zip(*folded, strict=True):
        assert_same_bits(result, another, "windows as one account")
