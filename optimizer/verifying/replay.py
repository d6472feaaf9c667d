"""A recorded run found anew from its bars: header, front, figures, certificate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.batch import Engine
from engine.certificate import Certificate, data_hash
from engine.replay.certificate import Replay, build_certificate, certify
from engine.replay.sample import Piece
from optimizer.runs import RunStore
from optimizer.runs.result import Member, RunResult, refuse_red
from optimizer.runs.rows import front_members
from optimizer.search.archive import hypervolume
from optimizer.search.generation import Floats, Generation, Population
from optimizer.search.memory import Memory, from_numbers
from optimizer.search.stopping import stop_reason
from optimizer.session.causal import prove_front
from optimizer.session.columns import FITS, list_fits
from optimizer.session.ended import Ended, describe_result
from optimizer.session.header import build_run_header
from optimizer.session.identity import build_identity, require_identity
from optimizer.session.individuals import describe_individuals
from optimizer.session.search import numbered_front
from optimizer.session.task import Task
from optimizer.shown import evenly
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
class Found:
    """A run as it is found anew.

    Args:
        task: Without what is held out.
        engine: Its full one.
        genomes: [F, G], the recorded front by numbers.
    """

    task: Task
    engine: Engine
    genomes: Floats


def certify_some(found: Found, individuals: int) -> Certificate:
    """Replay some members on the reference; a difference to the engine is an error."""
    # Spread over the front, whose members are sorted by their first objective.
    certificate = certify(found.engine, found.genomes[evenly(len(found.genomes), individuals)])
    refuse_red(certificate)
    prove_front(found.task, found.genomes)
    return certificate


def header_problems(store: RunStore, whole: Task) -> Iterator[str]:
    """What a header says that is not so; `whole` is the recorded task with all of its bars."""
    recorded = require_identity(store)
    expected = build_run_header(whole, "", build_identity(whole, recorded.warm_start))
    header = {**store.header, "identity": recorded.as_dict()}
    for name, said in _without(header, CIRCUMSTANCES).items():
        if name in expected:
            yield from find_differences(f"header.{name}", said, expected[name])
    versions, own = store.header.get("versions"), expected["versions"]
    if isinstance(versions, Mapping) and isinstance(own, Mapping):
        for name in DECIDING.intersection(versions):
            yield from find_differences(f"header.versions.{name}", versions[name], own[name])
    # More may have been fitted since, or before the run's own copy was made.
    fits = list_fits(whole.spec, whole.config.column_file, is_beside_counted=False)
    noted = store.header.get(FITS, [])
    if isinstance(noted, list) and (missing := {*fits} - {*noted}):
        yield f"header.{FITS}: {len(missing)} that the forecast's record names are missing"


def generation_problems(last: Generation, found: Found, store: RunStore) -> Iterator[str]:
    """What some generations say that is not so; all together evaluated what the last remembers."""
    # An owner may have gone on since, and older ones give way while it does.
    summaries = store.generations()[: last.number + 1]
    is_over = store.result is not None
    whole = [one for one in summaries if one.kept == "whole"] if is_over else summaries[-1:]
    for place in evenly(len(whole), GENERATIONS):
        number = whole[place].number
        generation = last if number == last.number else store.generation(number)
        yield from _find_problems(generation, whole[place].front, found)
    evaluated = sum(one.evaluated for one in summaries)
    counted = _restore_memory(last, found).evaluated
    yield from find_differences("evaluated by all generations", evaluated, counted)


def _find_problems(generation: Generation, front: int, found: Found) -> Iterator[str]:
    what, population = f"generation {generation.number}", generation.population
    sample = population.take(evenly(len(population), SAMPLED))
    for name, some in (("archive", generation.archive), ("population", sample)):
        yield from _evaluation_problems(f"{what}: a candidate of its {name}", some, found)
    yield from find_differences(f"{what}.front", front, len(front_members(population)))
    memory = _restore_memory(generation, found)
    size = 0.0
    if memory.has_box:
        size = hypervolume(generation.archive.objectives, memory.low, memory.high)
    yield from find_differences(f"{what}.hypervolume", generation.hypervolume, size)


def _restore_memory(generation: Generation, found: Found) -> Memory:
    return from_numbers(generation.memory, len(found.task.goals.names))


def _evaluation_problems(who: str, some: Population, found: Found) -> Iterator[str]:
    """The first individual that is not worth what is recorded of it."""
    if not len(some):
        return
    judged = found.task.problem(found.engine).evaluate(some.genomes)
    same = (judged.objectives == some.objectives) | np.isnan(judged.objectives)
    wrong = (judged.violations != some.violations) | (judged.failures != some.failures)
    wrong |= ~same.all(axis=1)
    if wrong.any():
        place = int(wrong.argmax())
        recorded, now = some.objectives[place].tolist(), judged.objectives[place].tolist()
        yield f"{who} has objectives {recorded} in the record and {now} here"


def result_problems(
    store: RunStore, last: Generation, result: RunResult, whole: Task, found: Found
) -> Iterator[str]:
    """What a result says that does not follow from the last generation and the bars."""
    front, polished = numbered_front(found.task, found.task.problem(found.engine), last)
    ended = Ended(last, front, polished, _what_ended(result, last, whole), result.regret)
    certificate = _certificate_by_engine(found, front.genomes)
    expected = describe_result(whole, found.engine, store, ended, certificate, result.timing)
    expected = expected.restore_order([gene.name for gene in whole.spec.layout.genes])
    yield from _member_problems(result.front, expected.front)
    known = ALWAYS.union(store.result or {})
    said = {name: value for name, value in result.payload().items() if name in known}
    for name in ("front", *UNKNOWN):
        said.pop(name, None)
    said["certificate"] = _without(said["certificate"], OF_A_MACHINE)
    # Where the bars are now is no part of what was found.
    said["data"] = _without(said["data"], ("spec", "notes"))
    yield from find_differences("result", said, as_far_as_recorded(said, expected.payload()))


def _what_ended(result: RunResult, last: Generation, whole: Task) -> str:
    why = stop_reason(whole.config, last, 0.0)
    # How long it searched is known to nobody else.
    is_timed = result.stopped_by == "max_seconds" and whole.config.max_seconds is not None
    return why or ("max_seconds" if is_timed else "generations")


def _certificate_by_engine(found: Found, genomes: Floats) -> Certificate:
    """The certificate of a front of which the engine is right, as it was for some of it."""

    def some(members: Floats, pieces: Sequence[Piece]) -> Replay:
        ledgers = [list(of_windows) for of_windows in found.engine.ledgers(members)]
        return Replay(ledgers, {}, tuple(pieces), {})

    engine = found.engine
    content = data_hash(engine.series)
    return build_certificate(engine.spec, engine.windows, content, engine.device, genomes, some)


def figure_problems(result: RunResult, found: Found) -> Iterator[str]:
    """Members that did not reach what is said of them; who else there should be is left open."""
    described = describe_individuals(found.task, found.engine, found.genomes)
    members = [replace(one, objectives={}) for one in result.front]
    yield from _member_problems(members, described)


def _member_problems(recorded: Sequence[Member], expected: Sequence[Member]) -> Iterator[str]:
    """The first member that is none, or did not reach what is said of it; both by numbers."""
    if len(recorded) != len(expected):
        yield (
            f"the front has {len(recorded)} members, {len(expected)} follow from the last "
            "generation"
        )
    by_genes = {tuple(one.genes.values()): one for one in expected}
    for number, one in enumerate(recorded):
        found = by_genes.get(tuple(one.genes.values()))
        if found is None:
            yield f"member {number} does not follow from the last generation"
            return
        if found != one and (differing := _different_parts(one, found)):
            was, now = differing
            yield (
                f"member {number} does not reach what the result says of it: recorded {was}, "
                f"now {now}"
            )
            return


def _different_parts(one: Member, found: Member) -> tuple[dict[str, object], ...]:
    """What is recorded of a member, and what is so, where both differ; nothing where they agree."""
    was: dict[str, object] = {}
    now: dict[str, object] = {}
    for part in ("objectives", "metrics", "undefined", "by_window"):
        recorded, present = getattr(one, part), getattr(found, part)
        # What a version did not know yet was not recorded; why something is undefined always was.
        names = recorded.keys() | present.keys() if part == "undefined" else recorded.keys()
        for name in names:
            if recorded.get(name) != present.get(name):
                was[name], now[name] = recorded.get(name), present.get(name)
    return (was, now) if was else ()


def _without(said: object, names: Sequence[str]) -> dict[str, object]:
    """A part of a record without some of its fields."""
    return {name: value for name, value in dict(said).items() if name not in names}  # type: ignore[call-overload]
