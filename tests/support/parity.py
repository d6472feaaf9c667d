"""Comparisons of engines that name what differs, where, and both values."""

import numpy as np

from engine.batch import Engine
from engine.reference import Reference
from engine.replay.parity import compare_accumulators, compare_ledgers
from tests.support.references import FORMS


def both(strategy, bars, windows, genomes, costs=None, form=None, device="cpu", **options):
    """The first difference between reference and engine; empty when there is none."""
    reference = Reference(strategy, bars, windows, costs, form=form or FORMS["compiled_reference"])
    engine = Engine(strategy, bars, windows, costs, device=device, **options)
    accumulators = engine.evaluate(genomes)
    for i, ledgers in enumerate(engine.ledgers(genomes)):
        for w, (expected, actual) in enumerate(
            zip(reference.trades(genomes[i]), ledgers, strict=True)
        ):
            problem = compare_ledgers(expected, actual) or compare_accumulators(
                reference.fold(expected, genomes[i]), accumulators[i, w]
            )
            if problem:
                return f"individual {i}, window {w}: {problem}"
        if len(windows) > 1:
            _, account = engine.evaluate_account(genomes[i : i + 1])
            folded = reference.account(
                reference.trades(genomes[i]), range(len(windows)), genomes[i]
            )
            if problem := compare_accumulators(folded, account[0]):
                return f"individual {i}, all windows: {problem}"
        signals = [signal.tolist() for signal in engine.signals(genomes[i])]
        if signals != [list(signal) for signal in reference.signals(genomes[i])]:
            return f"individual {i}: signals differ"
    return ""


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


def assert_same_engines(expected, actual, genomes):
    """Accumulators, ledgers and signals are equal in every bit; gives the accumulators."""
    sums = expected.evaluate(genomes)
    assert_same_bits(sums, actual.evaluate(genomes), "accumulators")
    listed = zip(expected.ledgers(genomes), actual.ledgers(genomes), strict=True)
    for genome, (ledgers, others) in zip(genomes, listed, strict=True):
        for ledger, other in zip(ledgers, others, strict=True):
            assert not (problem := compare_ledgers(ledger, other)), problem
        for bars, other in zip(expected.signals(genome), actual.signals(genome), strict=True):
            assert_same_bits(bars, other, "signals")
    # Ledgers need rows, so that now all of them are there.
    assert_same_bits(sums, actual.evaluate(genomes), "with rows")
    return sums
