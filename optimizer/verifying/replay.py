"""A recorded run found anew from its bars: header, front, figures, certificate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.batch import Engine
from engine.certificate import Certificate, data_hash
from engine.replay.certificate import Replay, build_certificate, certify
from engine.replay.sample import Piece
from optimizer.formatting import evenly
from optimizer.run.causal import prove_front
from optimizer.run.columns import FITS, list_fits
from optimizer.run.ended import Ended, describe_result
from optimizer.run.header import build_run_header
from optimizer.run.identity import build_identity, require_identity
from optimizer.run.search import numbered_front
from optimizer.run.task import Task
from optimizer.search.archive import hypervolume
from optimizer.search.generation import Floats, Generation, Population
from optimizer.search.memory import Memory, from_numbers
from optimizer.search.stopping import stop_reason
from optimizer.store import RunStore
from optimizer.store.result import Member, RunResult, refuse_red
from optimizer.store.rows import find_front
from optimizer.verifying.differing import as_far_as_recorded, find_differences

CIRCUMSTANCES = ("created_at", "command", "device", "versions", "strategy_file", "notes", FITS)
"""Of a header, what does not follow from the bars: when, where and how the run was asked for, and
what was noted then, in words that change with the version."""

OF_A_MACHINE = ("device", "versions", "uncompiled")
"""Likewise of a certificate."""

DECIDING = frozenset(["engine", "search", "strategy"])
"""Versions of a header that decide what is found; the others are those of a machine."""

ALWAYS = frozenset(["search", "over_windows", "polished"])
"""Of a result, what former versions had but one value of, and did not record."""

UNKNOWN = ("run", "path", "timing", "device", "resumed", "regret")
"""Likewise of a result; regret is that of another search."""

GENERATIONS, SAMPLED = 8, 64
"""Of so many generations, the last included, the archive is evaluated anew, and so many others."""


@dataclass(frozen=True)
class ReplayedRun:
    """A run as it is found anew."""

    task: Task  # without what is held out
    engine: Engine  # its full one
    genomes: Floats  # [F, G], the recorded front by numbers


def certify_some(replayed: ReplayedRun, individuals: int) -> Certificate:
    """Replay some members on the reference; a difference to the engine is an error."""
    # Spread over the front, whose members are sorted by their first objective.
    certificate = certify(
        replayed.engine, replayed.genomes[evenly(len(replayed.genomes), individuals)]
    )
    refuse_red(certificate)
    prove_front(replayed.task, replayed.genomes)
    return certificate


def header_problems(store: RunStore, whole: Task) -> Iterator[str]:
    """Differences of a header from its task; `whole` is the recorded task with all of its bars."""
    recorded = require_identity(store)
    expected = build_run_header(whole, "", build_identity(whole, recorded.warm_start))
    header = {**store.header, "identity": recorded.as_dict()}
    for name, value in _without(header, CIRCUMSTANCES).items():
        if name in expected:
            yield from find_differences(f"header.{name}", value, expected[name])
    versions, current = store.header.get("versions"), expected["versions"]
    if isinstance(versions, Mapping) and isinstance(current, Mapping):
        for name in DECIDING.intersection(versions):
            yield from find_differences(f"header.versions.{name}", versions[name], current[name])
    # More may have been fitted since, or before the run's own copy was made.
    fits = list_fits(whole.spec, whole.config.column_file, is_beside_counted=False)
    noted = store.header.get(FITS, [])
    if isinstance(noted, list) and (missing := {*fits} - {*noted}):
        yield f"header.{FITS}: {len(missing)} that the forecast's record names are missing"


def generation_problems(last: Generation, replayed: ReplayedRun, store: RunStore) -> Iterator[str]:
    """Differences of some generations; all together evaluated as many as the last remembers."""
    # An owner may have gone on since, and older ones give way while it does.
    summaries = store.generations()[: last.number + 1]
    is_over = store.result is not None
    whole = (
        [summary for summary in summaries if summary.kept == "whole"] if is_over else summaries[-1:]
    )
    for index in evenly(len(whole), GENERATIONS):
        number = whole[index].number
        generation = last if number == last.number else store.generation(number)
        yield from _find_problems(generation, whole[index].front, replayed)
    evaluated = sum(summary.evaluated for summary in summaries)
    counted = _restore_memory(last, replayed).evaluated
    yield from find_differences("evaluated by all generations", evaluated, counted)


def _find_problems(generation: Generation, front: int, replayed: ReplayedRun) -> Iterator[str]:
    what, population = f"generation {generation.number}", generation.population
    sample = population.take(evenly(len(population), SAMPLED))
    for name, some in (("archive", generation.archive), ("population", sample)):
        yield from _evaluation_problems(f"{what}: a candidate of its {name}", some, replayed)
    yield from find_differences(f"{what}.front", front, len(find_front(population)))
    memory = _restore_memory(generation, replayed)
    size = 0.0
    if memory.has_box:
        size = hypervolume(generation.archive.objectives, memory.low, memory.high)
    yield from find_differences(f"{what}.hypervolume", generation.hypervolume, size)


def _restore_memory(generation: Generation, replayed: ReplayedRun) -> Memory:
    return from_numbers(generation.memory, len(replayed.task.goals.names))


def _evaluation_problems(who: str, some: Population, replayed: ReplayedRun) -> Iterator[str]:
    """The first individual whose objectives are not those recorded of it."""
    if not len(some):
        return
    judged = replayed.task.problem(replayed.engine).evaluate(some.genomes)
    same = (judged.objectives == some.objectives) | np.isnan(judged.objectives)
    wrong = (judged.violations != some.violations) | (judged.failures != some.failures)
    wrong |= ~same.all(axis=1)
    if wrong.any():
        index = int(wrong.argmax())
        recorded, now = some.objectives[index].tolist(), judged.objectives[index].tolist()
        yield f"{who} has objectives {recorded} in the record and {now} here"


def result_problems(
    store: RunStore, last: Generation, result: RunResult, whole: Task, replayed: ReplayedRun
) -> Iterator[str]:
    """Values of a result that do not follow from the last generation and the bars."""
    front, polished = numbered_front(replayed.task, replayed.task.problem(replayed.engine), last)
    ended = Ended(last, front, polished, _what_ended(result, last, whole), result.regret)
    certificate = _certificate_by_engine(replayed, front.genomes)
    expected = describe_result(whole, replayed.engine, store, ended, certificate, result.timing)
    expected = expected.restore_order([gene.name for gene in whole.spec.layout.genes])
    yield from _member_problems(result.front, expected.front)
    known = ALWAYS.union(store.result or {})
    stated = {name: value for name, value in result.payload().items() if name in known}
    for name in ("front", *UNKNOWN):
        stated.pop(name, None)
    stated["certificate"] = _without(stated["certificate"], OF_A_MACHINE)
    # Where the bars are now is no part of what was found.
    stated["data"] = _without(stated["data"], ("spec", "notes"))
    yield from find_differences("result", stated, as_far_as_recorded(stated, expected.payload()))


def _what_ended(result: RunResult, last: Generation, whole: Task) -> str:
    why = stop_reason(whole.config, last, 0.0)
    # How long it searched is known from its own record alone.
    is_timed = result.stopped_by == "max_seconds" and whole.config.max_seconds is not None
    return why or ("max_seconds" if is_timed else "generations")


def _certificate_by_engine(replayed: ReplayedRun, genomes: Floats) -> Certificate:
    """The certificate of a front of which the engine is right, as it was for some of it."""

    def some(members: Floats, pieces: Sequence[Piece]) -> Replay:
        ledgers = [list(of_windows) for of_windows in replayed.engine.ledgers(members)]
        return Replay(ledgers, {}, tuple(pieces), {})

    engine = replayed.engine
    content = data_hash(engine.series)
    return build_certificate(engine.spec, engine.windows, content, engine.device, genomes, some)


def _member_problems(recorded: Sequence[Member], expected: Sequence[Member]) -> Iterator[str]:
    """The first member that is none, or did not reach its recorded figures; both by numbers."""
    if len(recorded) != len(expected):
        yield (
            f"the front has {len(recorded)} members, {len(expected)} follow from the last "
            "generation"
        )
    by_genes = {tuple(member.genes.values()): member for member in expected}
    for number, member in enumerate(recorded):
        follows = by_genes.get(tuple(member.genes.values()))
        if follows is None:
            yield f"member {number} does not follow from the last generation"
            return
        if follows != member and (differing := _different_parts(member, follows)):
            was, now = differing
            yield (
                f"member {number} does not reach what the result says of it: recorded {was}, "
                f"now {now}"
            )
            return


def _different_parts(member: Member, follows: Member) -> tuple[dict[str, object], ...]:
    """Figures of a member, recorded and as they follow, where both differ; nothing where equal."""
    was: dict[str, object] = {}
    now: dict[str, object] = {}
    for part in ("objectives", "metrics", "undefined", "by_window"):
        recorded, present = getattr(member, part), getattr(follows, part)
        # Figures that a version did not know were not recorded; reasons always were.
        names = recorded.keys() | present.keys() if part == "undefined" else recorded.keys()
        for name in names:
            if recorded.get(name) != present.get(name):
                was[name], now[name] = recorded.get(name), present.get(name)
    if member.gone != follows.gone:
        was["gone"], now["gone"] = member.gone, follows.gone
    return (was, now) if was else ()


def _without(record: object, names: Sequence[str]) -> dict[str, object]:
    """A part of a record without some of its fields."""
    return {name: value for name, value in dict(record).items() if name not in names}  # type: ignore[call-overload]
