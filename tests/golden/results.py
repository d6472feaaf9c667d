"""A corpus of recorded results: strategies of `cases`, 48 individuals each, made by the reference.

    python -m tests.golden.results [NAME ...] --bless

`results.npz` holds the accumulators of every individual in each window and in all windows as one
account, and the signals and ledgers of the individual with the most trades. `test_results` holds
any form of the engine against it. ``--bless`` writes the file anew, by the law in plain Python,
which takes some minutes; the commit says which numbers moved and why.
"""

import argparse
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from engine import ENGINE_VERSION
from engine.accounts.ledger import ACCUMULATORS, COUNTS, WIDE, Ledger, Trade
from engine.batch import Engine
from engine.reference import Reference
from tests.golden.cases import CASES, make_world
from tests.support.references import FORMS

FILE = Path(__file__).with_name("results.npz")


class Results(NamedTuple):
    """Results of some individuals of a case."""

    inputs: str  # digest of version, bars and genomes
    sums: np.ndarray  # [P, W + 1, A], the last of all windows as one account
    listed: int  # individual whose trades are listed
    ledgers: tuple[Ledger, ...]  # [W]
    signals: tuple[np.ndarray, ...]  # [W] of bars [S]


def list_all(name: str) -> range:
    """Numbers of all individuals of a case."""
    return range(len(CASES[name].draw_genomes(name)))


def hash_inputs(name: str) -> str:
    """Digest of the law's version, bars and genomes."""
    digest = hashlib.sha256(bytes([ENGINE_VERSION]) + CASES[name].draw_genomes(name).tobytes())
    for bars in make_world(CASES[name].world).series:
        digest.update(bars.content_hash.encode())
    return digest.hexdigest()[:16]


def backtest_by_reference(name: str, form: str, some: Sequence[int], listed: int | None = None):
    """Results of some individuals by the reference.

    Trades are listed of the individual that is named, else of the one with the most.
    """
    case, world = CASES[name], make_world(CASES[name].world)
    reference = Reference(case.strategy, *world, case.costs, form=FORMS[form])
    genomes, windows = case.draw_genomes(name), range(len(world.windows))
    ledgers = {p: reference.trades(genomes[p]) for p in some}
    sums = [
        [*(reference.fold(one, genomes[p]) for one in ledgers[p]),
         reference.account(ledgers[p], windows, genomes[p])]
        for p in some
    ]  # fmt: skip
    if listed is None:
        listed = max(some, key=lambda p: sum(map(len, ledgers[p])))
    signals = tuple(np.array(bars, np.int64) for bars in reference.signals(genomes[listed]))
    return Results(hash_inputs(name), np.array(sums), listed, ledgers[listed], signals)


def backtest_by_engine(name: str, some: Sequence[int], listed: int, **options):
    """The same by an engine with these options."""
    case, world = CASES[name], make_world(CASES[name].world)
    engine, genomes = Engine(case.strategy, *world, case.costs, **options), case.draw_genomes(name)
    sums, account = engine.evaluate_account(genomes[some])
    again = engine.evaluate(genomes[some])
    assert again.tobytes() == sums.tobytes(), f"{name}: windows alone are not those of an account"
    ledgers, signals = engine.trades(genomes[listed]), engine.signals(genomes[listed])
    together = np.append(sums, account[:, None], 1)
    return Results(hash_inputs(name), together, listed, ledgers, signals)


def find_difference(name: str, some: Sequence[int], actual: Results) -> str:
    """The first difference in a bit of what was recorded: individual, window, field; else empty."""
    expected = read_results()[name]
    recorded = expected.sums[some]
    if expected.inputs != actual.inputs:
        return f"{name}: another version of the law, other bars or genomes were recorded"
    apart = recorded.view(np.int64) != np.ascontiguousarray(actual.sums).view(np.int64)
    for p, w, a in np.argwhere(apart)[:1].tolist():
        window = f"window {w}" if w < len(expected.ledgers) else "all windows as one account"
        values = f"{actual.sums[p, w, a].item()!r}, recorded {recorded[p, w, a].item()!r}"
        return f"{name}, individual {some[p]}, {window}: {ACCUMULATORS[a]} is {values}"
    return find_ledger_difference(name, actual.ledgers, actual.signals)


def find_ledger_difference(name: str, ledgers: Sequence[Ledger], signals) -> str:
    """The same in ledgers [W] and signals [W] of the individual whose trades are listed."""
    expected = read_results()[name]
    for w, (left, right) in enumerate(zip(expected.ledgers, ledgers, strict=True)):
        problem = _compare_ledgers(left, right)
        if not problem and expected.signals[w].tolist() != signals[w].tolist():
            problem = f"signals {signals[w]}, recorded {expected.signals[w]}"
        if problem:
            return f"{name}, individual {expected.listed}, window {w}: {problem}"
    return ""


def _compare_ledgers(expected: Ledger, actual: Ledger) -> str:
    columns, others = expected.columns(), actual.columns()
    if len(expected) != len(actual) or columns.keys() != others.keys():
        return f"{len(actual)} trades of {[*others]}, recorded {len(expected)} of {[*columns]}"
    for column, values in columns.items():
        if values.dtype != others[column].dtype:
            return f"{column} is {others[column].dtype}, recorded {values.dtype}"
        for k, (left, right) in enumerate(zip(values, others[column], strict=True)):
            if left.tobytes() != right.tobytes():
                return f"{column} of trade {k} is {right!r}, recorded {left!r}"
    for count in COUNTS:
        if getattr(expected, count) != getattr(actual, count):
            return f"{count} is {getattr(actual, count)}, recorded {getattr(expected, count)}"
    return ""


def write_results(results: dict[str, Results]) -> None:
    """Write the file: numbers of all cases behind one another, and how many are of each."""
    ledgers = [ledger for one in results.values() for ledger in one.ledgers]
    signals = [bars for one in results.values() for bars in one.signals]
    arrays = {
        "names": np.array([*results]),
        "inputs": np.array([one.inputs for one in results.values()]),
        "shapes": np.array([(*one.sums.shape[:2], one.listed) for one in results.values()]),
        "sums": np.concatenate([np.concatenate(one.sums) for one in results.values()]),
        "counts": np.array([[len(one), *(getattr(one, name) for name in COUNTS)]
                            for one in ledgers]),
        "widths": np.array([[getattr(one, name).shape[1] for name in WIDE] for one in ledgers]),
        "asked": np.array([*map(len, signals)]),
        "signals": np.concatenate(signals),
    }  # fmt: skip
    for name in (*Trade._fields, *WIDE):
        arrays[name] = np.concatenate([getattr(ledger, name).ravel() for ledger in ledgers])
    # By column: numbers that are alike lie together.
    np.savez_compressed(FILE, **{name: np.asfortranarray(array) for name, array in arrays.items()})


@cache
def read_results() -> dict[str, Results]:
    """Recorded results by name; those of other bars or genomes are refused."""
    with np.load(FILE) as file:
        arrays = dict(file)
    readers = {name: _Reader(np.ascontiguousarray(array)) for name, array in arrays.items()}

    def read_ledger() -> Ledger:
        ((count, *numbers),), (widths,) = readers["counts"].take(1), readers["widths"].take(1)
        columns = {name: readers[name].take(count) for name in Trade._fields}
        for name, width in zip(WIDE, widths, strict=True):
            columns[name] = readers[name].take(count * width).reshape(count, width)
        return Ledger(**columns, **dict(zip(COUNTS, map(int, numbers), strict=True)))

    results = {}
    for name, (p, w, listed) in zip(arrays["names"].tolist(), arrays["shapes"], strict=True):
        (inputs,) = readers["inputs"].take(1).tolist()
        sums = readers["sums"].take(p * w).reshape(p, w, -1)
        ledgers = tuple(read_ledger() for _ in range(w - 1))
        asked = readers["asked"].take(w - 1)
        signals = tuple(readers["signals"].take(count) for count in asked)
        results[name] = Results(inputs, sums, int(listed), ledgers, signals)
    return results


class _Reader:
    """Parts of an array, one behind the other."""

    def __init__(self, array: np.ndarray) -> None:
        self._array, self._end = array, 0

    def take(self, count: int) -> np.ndarray:
        """The next ones."""
        self._end += count
        return self._array[self._end - count : self._end]


def main() -> None:
    """Write results of all or some strategies anew."""
    parser = argparse.ArgumentParser("python -m tests.golden.results")
    parser.add_argument("names", nargs="*", metavar="NAME", help="all of the corpus without any")
    parser.add_argument("--bless", action="store_true", required=True)
    names = parser.parse_args().names
    results = read_results() if names else {}
    for name in names or CASES:
        results[name] = backtest_by_reference(name, "reference", list_all(name))
    write_results({name: results[name] for name in CASES})


if __name__ == "__main__":
    main()
