"""Runs side by side: what they were asked, and how much of the common front each has found."""

from collections.abc import Sequence
from dataclasses import dataclass

import moocore
import numpy as np

from optimizer.config.run_config import names_deciding
from optimizer.errors import StoreError
from optimizer.runs import RunStore
from optimizer.runs.result import RunHeader
from optimizer.search.generation import Floats, Population
from optimizer.session.exported import newest_front
from optimizer.session.identity import different_lines, recorded_identity

REFERENCE = 1.1
"""Corner of the box that is measured, where the fronts of all runs together span 0 to 1.

Source: Ishibuchi, Imada, Setoguchi and Nojima, "How to specify a reference point in hypervolume
calculation for fair performance comparison", 2018: a little beyond the worst, so that ends count.
"""

WORDS = ("there", "here")
"""What stands before the value of the first run and of another."""

NOT_RECORDED = "a version recorded one of them that did not say all that decides results"


@dataclass(frozen=True)
class Compared:
    """One run beside others.

    Args:
        generations: Recorded, the initial one not included.
        best: Best value of each objective in it, in the sign that people know; empty without one.
        hypervolume: What its front dominates, as a share of what the fronts of all dominate.
        beaten: For each run, the share of that one's front that a member of this one dominates.
        shared: For each run, how many genomes both fronts have.
        differs: What decides results and is not as in the first run, a line each.
        limits: What decides the last generation and is not as in the first run, a line each.
        is_comparable: Whether it was asked for the same as the first run but for seed and limits,
            so that their fronts answer the same question.
    """

    run: str
    status: str
    generations: int
    evaluated: int
    seconds: float
    front: int
    best: tuple[float, ...]
    hypervolume: float
    beaten: tuple[float, ...]
    shared: tuple[int, ...]
    differs: tuple[str, ...]
    limits: tuple[str, ...]
    is_comparable: bool


def compare_runs(stores: Sequence[RunStore]) -> list[Compared]:
    """Compare the newest fronts of two runs or more with the same objectives, open for reading.

    Raises:
        StoreError: When a run has recorded nothing, is damaged, or strives for something else.
    """
    headers = [RunHeader.read(store.header) for store in stores]
    objectives = headers[0].objectives
    for store, header in zip(stores, headers, strict=True):
        if header.objectives != objectives:
            raise StoreError(
                f"run '{store.run_id}' strives for {', '.join(header.objectives)} and "
                f"run '{stores[0].run_id}' for {', '.join(objectives)}: nothing to compare"
            )
    fronts = [newest_front(store) for store in stores]
    volumes = hypervolume_shares([front.objectives for front in fronts])
    return [
        _compared(store, place, fronts, volumes, stores[0]) for place, store in enumerate(stores)
    ]


def _compared(
    store: RunStore,
    place: int,
    fronts: Sequence[Population],
    volumes: Sequence[float],
    first: RunStore,
) -> Compared:
    summaries = list(store.generations())
    own = fronts[place]
    differs, is_comparable = _differences(first, store)
    return Compared(
        run=store.run_id,
        status=store.status,
        generations=len(summaries) - 1,
        evaluated=sum(summary.evaluated for summary in summaries),
        seconds=sum(summary.seconds for summary in summaries),
        front=len(own.objectives),
        best=_best(store, own.objectives),
        hypervolume=volumes[place],
        beaten=tuple(_beaten(own.objectives, other.objectives) for other in fronts),
        shared=tuple(_shared(own.genomes, other.genomes) for other in fronts),
        differs=differs,
        limits=different_lines(_limits(first), _limits(store), WORDS),
        is_comparable=is_comparable,
    )


def _differences(first: RunStore, store: RunStore) -> tuple[tuple[str, ...], bool]:
    """What decides results and differs, and whether both runs ask the same question."""
    there, here = (recorded_identity(one.header) for one in (first, store))
    if there is None or here is None:
        return (NOT_RECORDED,), False
    parts = there.differences(here, WORDS)
    return tuple(line for lines in parts.values() for line in lines), there.asks_the_same(here)


def _limits(store: RunStore) -> dict[str, object]:
    command = store.header.get("command")
    asked = command if isinstance(command, dict) else {}
    limits = {name: asked.get(name) for name in names_deciding("end")}
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


def _beaten(own: Floats, other: Floats) -> float:
    """Share of the members of another front that one of ours dominates."""
    if not len(own) or not len(other):
        return 0.0
    beaten = [
        bool(((own <= member).all(axis=1) & (own < member).any(axis=1)).any()) for member in other
    ]
    return sum(beaten) / len(other)


def _shared(own: Floats, other: Floats) -> int:
    known = {genome.tobytes() for genome in other}
    return sum(genome.tobytes() in known for genome in own)
