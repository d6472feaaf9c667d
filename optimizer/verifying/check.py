"""Verification of a run, as far as its record and its bars go."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from data.errors import DataError
from data.shell import write_command
from engine.certificate import Certificate
from engine.errors import EngineError
from optimizer.errors import OptimizerError, ParityError
from optimizer.evidence.verdict import RULES_VERSION
from optimizer.judging.judgement import Judgement
from optimizer.judging.unstated import Unstated
from optimizer.run.identity import recorded_identity
from optimizer.run.purposes import VERIFY, restore_task
from optimizer.run.tables import newest_front
from optimizer.run.task import Task
from optimizer.search.evolution import front_hash
from optimizer.store import RunStore
from optimizer.store.chain import UNCOUNTED
from optimizer.store.labels import Labels, find_label_problem, read_labels
from optimizer.store.result import RunResult, load_result
from optimizer.verifying.differing import find_differences
from optimizer.verifying.evidence import Rejudged, verdict_problems
from optimizer.verifying.replay import (
    ReplayedRun,
    certify_some,
    generation_problems,
    header_problems,
    result_problems,
)
from optimizer.verifying.stated import RecordedJudgements
from strategy.errors import StrategyError

ANYWAY = (
    "when, where and how fast it ran",
    "notes on the bars",
    "candidates beyond a sample of them",
    "how many of each generation were repaired or rejected",
)
OF_A_RESULT = ("regret",)
OF_A_JUDGEMENT = (
    "null searches",
    "the picks of folds",
    "trials, sharpe, cscv, stability and bootstrap",
    "how many searches were made on these bars",
)
"""Records of a run that cannot be computed from the rest without another search, if at all."""

OTHER_BITS = "own indicators ({}) compute other bits here, or the record was changed"


@dataclass(frozen=True)
class Checked:
    """Outcome of a verification."""

    problems: tuple[str, ...]  # damage, and values that do not follow, a line each
    unchecked: tuple[str, ...] = ()  # reasons why some values were not checked here, a line each
    # Of the members that were replayed; None where none were.
    certificate: Certificate | None = None
    is_replayed: bool = True  # whether it was asked to be
    # Other records of the run, for which its recorder alone stands.
    not_recomputed: tuple[str, ...] = ()
    # Rows left by an interrupted judge, and the command that goes on, a line each.
    unfinished: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all that can be computed was, and is as it was recorded."""
        return self.is_replayed and not (self.problems or self.unchecked or self.unfinished)


def check_run(store: RunStore, flags: Mapping[str, object], individuals: int) -> Checked:
    """Read a run's record in full, and find anew what follows from the rest and from its bars.

    Args:
        store: Of the run.
        flags: Name where the data is now, if it has moved.
        individuals: Members to replay on the reference; with 0 the record alone is read.

    Raises:
        ParityError: When reference and engine disagree.
        StoreError: When members of the result are not those of its last generation.
    """
    found = [*store.find_damage(), *find_label_problem(store.path)]
    lost = [*store.list_noticed_losses(), *(line for line in found if line == UNCOUNTED)]
    damage = [line for line in found if line != UNCOUNTED]
    if damage:
        return Checked(tuple(dict.fromkeys((*lost, *damage))))
    problems: list[str] = []
    result, judged = load_result(store), RecordedJudgements.read(store.evidence)
    judgement = judged.newest
    unchecked: list[str] = []
    problems += _own_problems(store, result)
    if result is not None and judgement is not None:
        differing = [*judged.problems(result), *verdict_problems(store, result, judgement)]
        if differing and judgement.rules != RULES_VERSION:
            unchecked.append("the verdict was given by rules of another version: judge it again")
        else:
            problems += differing
    certificate = None
    if individuals and not problems and store.generations():
        try:
            whole = restore_task(store, VERIFY, flags)
            certificate, differing = _replay_members(store, whole, result, judgement, individuals)
        except ParityError:
            raise
        except (DataError, EngineError, OptimizerError, StrategyError) as error:
            unchecked.append(f"members were not replayed: {error}")
        else:
            if differing and whole.spec.own:
                # Rounding cannot be told from another row.
                unchecked.append(OTHER_BITS.format(", ".join(sorted(whole.spec.own))))
                unchecked += differing
            else:
                problems += differing
    labels = ("tags and note",) if read_labels(store.path) != Labels() else ()
    regret = OF_A_RESULT if result and result.regret else ()
    judged_by = OF_A_JUDGEMENT if judgement else ()
    return Checked(
        (*lost, *problems),
        tuple(unchecked),
        certificate,
        bool(individuals),
        (*ANYWAY, *labels, *regret, *judged_by),
        tuple(_format_unfinished(store, left) for left in judged.list_unfinished()),
    )


def _format_unfinished(store: RunStore, left: Unstated) -> str:
    """Line on rows left by an interrupted judge, and the command that goes on with them."""
    command = f"{write_command('judge', store.path)} {left.flags}"
    return f"{left.what} are in no judgement, go on with: {command}"


def _own_problems(store: RunStore, result: RunResult | None) -> Iterator[str]:
    """Values that a record holds twice, and differently."""
    identity = recorded_identity(store.header)
    if identity is not None:
        recorded = store.header["identity"]
        assert isinstance(recorded, dict)
        yield from find_differences("identity.digest", recorded.get("digest"), identity.digest)
        yield from find_differences("header.costs", store.header.get("costs"), identity.costs)
    if result is None:
        return
    front = newest_front(store)
    hashed = front_hash(front.genomes, front.objectives)
    yield from find_differences("result.front_hash", result.front_hash, hashed)
    if identity is not None:
        yield from find_differences("result.data_hash", result.data_hash, identity.data_hash)


def _replay_members(
    store: RunStore,
    whole: Task,
    result: RunResult | None,
    judgement: Judgement | None,
    individuals: int,
) -> tuple[Certificate, list[str]]:
    """The certificate of some members, and problems."""
    last = store.last_generation()
    assert last is not None, "there is a generation"
    task, genomes = whole.closed, newest_front(store).genomes
    replayed = ReplayedRun(task, task.full_engine(device="cpu"), genomes)
    certificate = certify_some(replayed, individuals)
    problems = [*header_problems(store, whole), *generation_problems(last, replayed, store)]
    if result is not None:
        problems += result_problems(store, last, result, whole, replayed)
    if result is not None and judgement is not None and len(genomes):
        problems += Rejudged(store, result, whole, genomes, judgement).problems()
    return certificate, problems
