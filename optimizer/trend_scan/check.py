"""A scan's own check: rows replayed by the readable definition, equal in every bit or refused."""

import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from engine.runtime.compiling.forms import CompiledForm
from optimizer.errors import ParityError
from optimizer.trend_scan.classes import Int8s
from optimizer.trend_scan.params import ScanParams
from optimizer.trend_scan.result import SymbolRow
from strategy.genes import Floats
from strategy.indicators import adaptive_trend as law

ONE_IN = 50
"""Symbols of which one is replayed, at least."""


def draw_sample(names: Sequence[str], data_hash: str) -> list[str]:
    """At least one symbol in fifty, which the hash of the data decides."""
    order = sorted(names, key=lambda name: hashlib.sha256(f"{data_hash} {name}".encode()).digest())
    return order[: -(-len(names) // ONE_IN)]


def check_rows(rows: Mapping[str, SymbolRow], question: ScanParams, threads: int) -> None:
    """Replay rows by the readable definition, compiled in its own words.

    Raises:
        ParityError: When a row or a vote differs in any bit, naming the first.
    """
    run = CompiledForm()

    def check(row: SymbolRow) -> str:
        expected = run(question.kind.loop)(row.close, *question.parameters)
        votes = _votes(row.close, question, run)
        return _difference("trend", expected, row.trend) or _difference("votes", votes, row.votes)

    # All loops are compiled before threads ask for them.
    differences = {name: check(rows[name]) for name in list(rows)[:1]}
    with ThreadPoolExecutor(threads) as pool:
        rest = list(rows)[1:]
        differences |= dict(zip(rest, pool.map(check, [rows[name] for name in rest]), strict=True))
    wrong = [name for name, difference in differences.items() if difference]
    if wrong:
        raise ParityError(
            f"{len(wrong)} of {len(rows)} symbols differ from the readable definition, so no "
            f"class is shown; {wrong[0]}: {differences[wrong[0]]}; this is a "
            "defect"
        )


def _votes(close: Floats, question: ScanParams, run: CompiledForm) -> Int8s:
    """Votes of the families by the readable parts, [6, T]."""
    bases, (robustness, growth, decay, cutout) = question.parameters[:6], question.parameters[6:10]
    steps = run(law.compute_steps)(close, growth, decay, cutout)
    votes = []
    for family, base in enumerate(bases):
        lengths = law.list_lengths(base, robustness)
        signals = run(law.compute_signals)(close, family, lengths, question.is_script)
        votes.append(run(law.compute_votes)(signals, steps, cutout)[0])
    return np.array(votes).astype(np.int8)


def _difference(what: str, expected: Floats | Int8s, actual: Floats | Int8s) -> str:
    """Where two rows part first; empty when they are equal in every bit."""
    if expected.tobytes() == actual.tobytes():
        return ""
    if expected.shape != actual.shape:
        return f"{what} of shape {list(actual.shape)}, by definition {list(expected.shape)}"
    is_other = ~((expected == actual) | (np.isnan(expected) & np.isnan(actual)))
    differing = np.argwhere(is_other)
    if not len(differing):
        return f"{what} differ in the sign of a zero or in a NaN"
    first = tuple(differing[0].tolist())
    return f"{what} at {list(first)} are {actual[first]}, by definition {expected[first]}"
