"""Runs side by side: their settings, and the share of the common front that each has found."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import moocore
import numpy as np

from optimizer.config.run_config import names_deciding
from optimizer.errors import StoreError
from optimizer.formatting import describe_formulas, format_count, number
from optimizer.run.record import Identity, different_lines, read_identity
from optimizer.run.tables import newest_front
from optimizer.search.generation import Floats, Population
from optimizer.store import RunStore
from optimizer.store.result import RunHeader, load_result

REFERENCE = 1.1
"""Corner of the box that is measured, where the fronts of all runs together span 0 to 1.

Source: Ishibuchi, Imada, Setoguchi and Nojima, "How to specify a reference point in hypervolume
calculation for fair performance comparison", 2018: a little beyond the worst, so that ends count.
"""

WORDS = ("there", "here")
"""Words before the value of the first run and of another."""

GENES = "strategy.genes."
"""How a line about a gene begins."""


@dataclass(frozen=True)
class RunComparison:
    """One run beside others."""

    run: str
    status: str
    generations: int  # recorded, the initial one not included
    evaluated: int  # in generations and in polishing
    seconds: float
    front: int
    # Best value of each objective in it, in the sign that people know; empty without one.
    best: tuple[float, ...]
    # Volume that its front dominates, as a share of that of all fronts; None where some run
    # measured something else, on other bars or at other costs.
    hypervolume: float | None
    # For each run, the share of that one's front that a member of this one dominates; empty
    # as well then.
    beaten: tuple[float, ...]
    shared: tuple[int, ...]  # for each run, how many genomes both fronts have
    differs: tuple[str, ...]  # all that decides results and is not as in the first run, a line each
    # All that decides the last generation and is not as in the first run, a line each.
    limits: tuple[str, ...]
    # Whether it was asked for the same as the first run but for seed and limits, so that
    # their fronts answer the same question.
    is_comparable: bool
    data: str  # symbol and duration of a bar
    # Whether its values and those of the first run are of the same bars, at the same costs.
    is_measured_alike: bool


def compare_runs(stores: Sequence[RunStore]) -> list[RunComparison]:
    """Compare the newest fronts of two runs or more with the same objectives, open for reading.

    StoreError when a run has recorded nothing, is damaged, or strives for something else.
    """
    headers = [RunHeader.read(store.header) for store in stores]
    first = _list_goals(headers[0])
    for store, header in zip(stores, headers, strict=True):
        if (goals := _list_goals(header)) != first:
            raise StoreError(
                f"run '{store.run_id}' strives for {', '.join(goals)} and "
                f"run '{stores[0].run_id}' for {', '.join(first)}: nothing to compare"
            )
    fronts = [newest_front(store) for store in stores]
    runs = [_compare_run(store, number, fronts, stores[0]) for number, store in enumerate(stores)]
    if not all(run.is_measured_alike for run in runs):
        return runs
    objectives_of = [front.objectives for front in fronts]
    volumes = hypervolume_shares(objectives_of)
    beaten = [
        tuple(_beaten(members, other) for other in objectives_of) for members in objectives_of
    ]
    return [
        replace(run, hypervolume=volume, beaten=shares)
        for run, volume, shares in zip(runs, volumes, beaten, strict=True)
    ]


def _list_goals(header: RunHeader) -> list[str]:
    """Objectives, with the formula of each that has a name."""
    formulas = dict(zip(header.formulas, describe_formulas(header.formulas), strict=True))
    return [formulas.get(name, name) for name in header.objectives]


def _compare_run(
    store: RunStore, number: int, fronts: Sequence[Population], first: RunStore
) -> RunComparison:
    summaries = list(store.generations())
    front, result = fronts[number], load_result(store)
    polished = 0 if result is None else result.polished
    there, here = (read_identity(opened) for opened in (first, store))
    return RunComparison(
        run=store.run_id,
        status=store.status,
        generations=len(summaries) - 1,
        evaluated=sum(summary.evaluated for summary in summaries) + polished,
        seconds=sum(summary.seconds for summary in summaries),
        front=len(front.objectives),
        best=_best(store, front.objectives),
        hypervolume=None,
        beaten=(),
        shared=tuple(_count_shared(front.genomes, other.genomes) for other in fronts),
        differs=_differences(there, here, first, store),
        limits=different_lines(_limits(first), _limits(store), WORDS),
        is_comparable=there.asks_the_same(here),
        data=RunHeader.read(store.header).data,
        is_measured_alike=there.measures_the_same(here),
    )


def _differences(
    there: Identity, here: Identity, first: RunStore, store: RunStore
) -> tuple[str, ...]:
    """Differences from the first run in all that decides results, a line each, in words."""
    parts = there.differences(here, WORDS)
    headers = [RunHeader.read(opened.header) for opened in (first, store)]
    bars, windows = (
        f"{name}: there {was}, here {now}"
        for name, (was, now) in {
            "bars": [header.data for header in headers],
            "windows": [_describe_windows(header) for header in headers],
        }.items()
    )
    if "data_hash" in parts:
        is_named = headers[0].data != headers[1].data
        parts["data_hash"] = (bars if is_named else f"bars: not the same of {headers[0].data}",)
    if "windows" in parts:
        parts["windows"] = (windows,)
    genes = [gene.name for gene in headers[0].genes]
    scaled = [name for name in genes if _differs(name, parts.get("strategy", ()))]
    if len(scaled) > 1:
        rest = [line for line in parts["strategy"] if not line.startswith(GENES)]
        parts["strategy"] = (*rest, f"bounds or defaults of {', '.join(scaled)}")
    return tuple(line for lines in parts.values() for line in lines)


def _differs(gene: str, lines: Sequence[str]) -> bool:
    return any(line.startswith(f"{GENES}{gene}.") for line in lines)


def _describe_windows(header: RunHeader) -> str:
    """Bars and windows of a run, counted."""
    searched, held = (
        (len(windows), sum(end - start for start, end in windows))
        for windows in (header.windows, header.held_out)
    )
    kept = f", {number(held[1])} held out" if held[0] else ""
    return f"{format_count(searched[1], 'bar')} in {format_count(searched[0], 'window')}{kept}"


def _limits(store: RunStore) -> dict[str, object]:
    command = store.header.get("command")
    flags = command if isinstance(command, dict) else {}
    limits = {name: flags.get(name) for name in names_deciding("end")}
    return {**limits, "generations": store.planned}


def _best(store: RunStore, objectives: Floats) -> tuple[float, ...]:
    if not len(objectives):
        return ()
    return tuple(RunHeader.read(store.header).natural(objectives.min(axis=0)).tolist())


def hypervolume_shares(fronts: Sequence[Floats]) -> list[float]:
    """Share of what all fronts dominate together that each dominates alone."""
    together = np.concatenate(fronts)
    if not len(together):
        return [0.0] * len(fronts)
    low, span = together.min(axis=0), np.ptp(together, axis=0)
    scale = np.where(span > 0, span, 1.0)
    reference = np.full(together.shape[1], REFERENCE)

    def volume(front: Floats) -> float:
        scaled = (front - low) / scale
        return float(moocore.hypervolume(scaled, ref=reference)) if len(front) else 0.0

    whole = volume(together)
    return [volume(front) / whole for front in fronts]


def _beaten(front: Floats, other: Floats) -> float:
    """Share of the members of another front that one of ours dominates."""
    if not len(front) or not len(other):
        return 0.0
    beaten = [
        bool(((front <= member).all(axis=1) & (front < member).any(axis=1)).any())
        for member in other
    ]
    return sum(beaten) / len(other)


def _count_shared(genomes: Floats, other: Floats) -> int:
    known = {genome.tobytes() for genome in other}
    return sum(genome.tobytes() in known for genome in genomes)
