"""Certificates: trades of the batch engine, replayed by the reference and compared."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from data.bars import Window
from engine import ENGINE_VERSION
from engine.accounts.ledger import Ledger
from engine.backend import Ints
from engine.batch import Engine
from engine.certificate import Certificate, data_hash
from engine.reference import Reference
from engine.replay.parity import (
    Piece,
    chosen_pieces,
    compare_accumulators,
    compare_ledgers,
    compare_sample,
)
from engine.replay.threads import BARS_OF_A_THREAD, Replaying, replaying
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.machine import versions
from strategy.genes import Floats
from strategy.model import Strategy
from strategy.rows import as_it_reads

FIRST_PAIRS = 256
"""Pairs of individual and window that are replayed first: they show how many trades there are."""

REPLAYED_TRADES, REPLAYED_PAIRS = 2**21, 2**15
"""Trades, 200 MB, and pairs with ledgers held at a time, of each engine. Rows that individuals
share are computed each time."""


@dataclass(frozen=True)
class Replay:
    """Result of comparing some individuals in some windows."""

    ledgers: list[list[Ledger]]  # the reference's, [N] of [W]
    # By individual and window, the differences between the engines or both forms.
    problems: dict[tuple[int, int], str]
    pieces: tuple[Piece, ...]  # of these individuals, the part replayed in plain Python too
    uncompiled: dict[str, str]  # as in `Certificate`


Some = Callable[[Floats, tuple[Piece, ...]], Replay]
"""Replays individuals in all windows, and pieces of them also in plain Python."""


def certify(
    engine: Engine,
    genomes: Floats,
    *,
    threads: int | None = None,
    replaying: Replaying = replaying,
) -> Certificate:
    """Replay individuals [N, G] on the reference and compare with the engine.

    The engine's strategy, series, windows and costs are the reference's too, which runs on
    `threads`; when None on as many of the engine's as series of this length keep busy. Its
    ledgers are compared with those that the engine lists, and accumulators with those of its batch
    evaluation. `replaying` is where the reference runs.
    """

    def some(members: Floats, pieces: Sequence[Piece]) -> Replay:
        return replay(engine, members, pieces, threads=threads, replaying=replaying)

    content = data_hash(engine.series)
    return build_certificate(engine.spec, engine.windows, content, engine.device, genomes, some)


def select_pieces(pieces: Sequence[Piece], places: Ints) -> tuple[Piece, ...]:
    """Pieces with a window at one of some places, by the number of the place."""
    numbers = {window_number: number for number, window_number in enumerate(places.tolist())}
    return tuple(
        piece._replace(window=numbers[piece.window]) for piece in pieces if piece.window in numbers
    )


def join_replays(parts: Iterable[tuple[Ints, Replay]], n_members: int, n_windows: int) -> Replay:
    """Replays of the same individuals in different windows as one in all windows.

    `parts` are places of windows among all, with the findings in these.
    """
    rows: list[dict[int, Ledger]] = [{} for _ in range(n_members)]
    problems: dict[tuple[int, int], str] = {}
    uncompiled: dict[str, str] = {}
    pieces: tuple[Piece, ...] = ()
    for numbers, part in parts:
        window_numbers = numbers.tolist()
        for row, ledgers in zip(rows, part.ledgers, strict=True):
            row |= zip(window_numbers, ledgers, strict=True)
        problems |= {(i, window_numbers[w]): text for (i, w), text in part.problems.items()}
        uncompiled |= part.uncompiled
        pieces += part.pieces
    in_order = [[row[w] for w in range(n_windows)] for row in rows]
    return Replay(in_order, problems, pieces, uncompiled)


def replay(
    engine: Engine,
    genomes: Floats,
    pieces: Sequence[Piece],
    *,
    threads: int | None = None,
    replaying: Replaying = replaying,
) -> Replay:
    """Replay individuals [N, G]; some `pieces` of them also in plain Python. See `certify`."""

    def of_shares() -> Iterator[tuple[Ints, Replay]]:
        for numbers, share in engine.shares():
            pieces_here = select_pieces(pieces, numbers)
            yield numbers, _replay(share, genomes, pieces_here, threads, replaying)
            # Else it would stay until the next one is made.
            del share

    whole = join_replays(of_shares(), len(genomes), len(engine.windows))
    if len(engine.windows) > 1:
        _, accounts = engine.evaluate_account(genomes)
        arguments = engine.spec, engine.series, engine.windows, engine.costs
        compare_accounts(whole, accounts, genomes, Reference(*arguments, form=CompiledForm()))
    return whole


def compare_accounts(
    found: Replay, accounts: Floats, genomes: Floats, reference: Reference
) -> None:
    """Note where all windows as one account [N, A] are not what their ledgers fold to."""
    windows = range(len(reference.windows))
    for i, (ledgers, account) in enumerate(zip(found.ledgers, accounts, strict=True)):
        folded = reference.account(ledgers, windows, genomes[i])
        if problem := compare_accumulators(folded, account):
            found.problems.setdefault((i, 0), f"all windows as one account: {problem}")


def _replay(
    engine: Engine,
    genomes: Floats,
    pieces: tuple[Piece, ...],
    threads: int | None,
    replaying: Replaying,
) -> Replay:
    """The same for an engine that has all windows at hand."""
    form = CompiledForm()
    reference = Reference(engine.spec, engine.series, engine.windows, engine.costs, form=form)
    for genome in genomes[:1]:
        # All loops are compiled before threads ask for them, and it is known which cannot be.
        reference.replay(genome, [0])
    # Plain Python gains nothing by threads.
    shared = 1 if form.uncompiled else threads or _usable_threads(engine)
    with replaying(reference, genomes, shared) as replays:
        # The engine lists its ledgers while the reference is at work.
        accumulators = engine.evaluate(genomes)
        ledgers = [list(of_windows) for of_windows in engine.ledgers(genomes)]
        problems = compare_sample(reference, genomes, pieces, as_it_reads)
        for i, w, ledger, folded in replays:
            problem = compare_ledgers(ledger, ledgers[i][w]) or compare_accumulators(
                folded, accumulators[i, w]
            )
            if problem:
                problems[i, w] = problem
            # From here on the reference's; equal or not, the engine's is not needed any more.
            ledgers[i][w] = ledger
    return Replay(ledgers, problems, pieces, form.uncompiled)


def build_certificate(
    spec: Strategy,
    windows: Sequence[Window],
    content: str,
    device: str,
    genomes: Floats,
    some: Some,
) -> Certificate:
    """The certificate of individuals [N, G], some of whom are replayed at a time."""
    digest, begin, trades = hashlib.sha256(), 0, 0
    problems: dict[tuple[int, int], str] = {}
    uncompiled: dict[str, str] = {}
    pieces: tuple[Piece, ...] = ()
    for replayed in _replays(spec, windows, genomes, some):
        for of_windows in replayed.ledgers:
            for ledger in of_windows:
                _hash_ledger(digest, ledger)
                trades += len(ledger)
        problems |= {(begin + i, w): text for (i, w), text in replayed.problems.items()}
        begin += len(replayed.ledgers)
        pieces += replayed.pieces
        uncompiled |= replayed.uncompiled
    return Certificate(
        individuals=len(genomes),
        windows=len(windows),
        trades=trades,
        mismatches=len(problems),
        first_mismatch=_describe_first_problem(problems, spec, genomes),
        plain_individuals=len(pieces),
        plain_bars=sum(piece.bars for piece in pieces),
        uncompiled=uncompiled,
        ledger_hash=digest.hexdigest(),
        data_hash=content,
        strategy=f"{spec.name} {spec.version}",
        engine_version=ENGINE_VERSION,
        device=device,
        versions=versions(),
    )


def _replays(
    spec: Strategy, windows: Sequence[Window], genomes: Floats, some: Some
) -> Iterator[Replay]:
    """Replays of consecutive individuals, as many at a time as ledgers fit memory."""
    pieces = chosen_pieces(spec, windows, genomes)
    most, begin, trades = max(1, REPLAYED_PAIRS // len(windows)), 0, 0
    step = min(most, max(1, FIRST_PAIRS // len(windows)))
    while begin < len(genomes):
        members = genomes[begin : begin + step]
        pieces_here = tuple(
            piece._replace(individual=piece.individual - begin)
            for piece in pieces
            if begin <= piece.individual < begin + len(members)
        )
        replayed = some(members, pieces_here)
        yield replayed
        begin += len(members)
        trades += sum(len(ledger) for of_windows in replayed.ledgers for ledger in of_windows)
        # Not held beside the next ones.
        del replayed
        step = min(most, max(1, REPLAYED_TRADES * begin // max(trades, 1)))


def _usable_threads(engine: Engine) -> int:
    """Cores that the longest series keeps busy, no more than the engine may use."""
    longest = max(map(len, engine.series))
    return min(engine.threads, max(2, longest // BARS_OF_A_THREAD))


def _describe_first_problem(
    problems: dict[tuple[int, int], str], spec: Strategy, genomes: Floats
) -> str:
    """The first problem in full, with the genes of its individual; empty when there is none."""
    if not problems:
        return ""
    i, w = min(problems)
    genes = spec.layout.decode(genomes[i])
    return f"individual {i}, window {w}: {problems[i, w]}\n  genes: {genes}"


def _hash_ledger(digest: "hashlib._Hash", ledger: Ledger) -> None:
    parts: list[bytes] = []
    for name, column in ledger.columns().items():
        # To add nothing takes the sign from a zero.
        unsigned = np.add(column, column.dtype.type(0)) if column.dtype.kind == "f" else column
        little = unsigned.astype(column.dtype.newbyteorder("<"), copy=False)
        parts += f"{name} {len(ledger)}\n".encode(), little.tobytes()
    digest.update(b"".join(parts))
