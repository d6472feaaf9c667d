"""runs verify: the record read in full, and members of its front replayed."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from data.errors import DataError
from engine.replay.certificate import certify
from optimizer.commands.console import stdout
from optimizer.commands.notes import COMPILES, note, telling
from optimizer.errors import StoreError
from optimizer.runs import RunStore, find_run
from optimizer.runs.result import Member, RunResult, recorded_result, refuse_red, words_of
from optimizer.session.header import recorded_front
from optimizer.session.individuals import describe_individuals
from optimizer.session.recorded_rows import recorded_rows
from optimizer.shown import evenly


@telling((COMPILES,), note)
def verify_command(name: str, runs: Path, individuals: int) -> None:
    """Check a run's record and replay members of its front; anything wrong is an error."""
    path = find_run(runs, name)
    console = stdout()
    with RunStore.open(path) as store:
        problems = store.verify() or recorded_rows(store).damaged()
        if problems:
            raise StoreError(f"run '{store.run_id}' is damaged: " + "; ".join(problems))
        result = recorded_result(store)
        console.say(f"run {store.run_id}: the record is whole, every digest is right")
    if not individuals:
        return
    try:
        task, genomes = recorded_front(path, {})
    except (DataError, StoreError) as error:
        console.say(f"members were not replayed: {error}")
        return
    # Spread over the front, whose members are sorted by genome.
    chosen = genomes[evenly(len(genomes), individuals)]
    task = task.closed
    engine = task.full_engine(device="cpu")
    certificate = certify(engine, chosen)
    refuse_red(certificate)
    if result is not None:
        _refuse_other_figures(describe_individuals(task, engine, chosen), result)
    console.say(words_of(certificate))


def _refuse_other_figures(judged: Iterable[Member], result: RunResult) -> None:
    """Refuse a result whose members did not reach what it says of them."""
    recorded = {tuple(one.genes.values()): one for one in result.front}
    for found in judged:
        one = recorded[tuple(found.genes.values())]
        # Older versions recorded fewer metrics.
        if _recorded(found, one.metrics) != _recorded(one, one.metrics):
            number = result.front.index(one)
            raise StoreError(
                f"run '{result.run}' is damaged: member {number} does not reach what the result "
                f"says of it: recorded {dict(one.metrics)}, now {dict(found.metrics)}"
            )


def _recorded(member: Member, names: Mapping[str, object]) -> list[object]:
    """Figures of a member, as far as they bear these names."""
    parts = (member.metrics, member.undefined)
    return [*({n: part[n] for n in names if n in part} for part in parts), member.by_window]
