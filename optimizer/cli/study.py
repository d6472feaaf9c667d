"""A run as an Optuna study in one journal file, for its dashboard; the only import of Optuna."""

import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from data.shell import quote_word
from optimizer.atomic_write import write_output
from optimizer.errors import ConfigError, StoreError
from optimizer.formatting import evenly
from optimizer.goals.objectives import is_maximised
from optimizer.run.tables import Recorded, natural, newest_front, recorded_individuals
from optimizer.search.generation import LINEAGE, OPERATORS, UNKNOWN, Population
from optimizer.store import RunStore
from optimizer.store.result import GeneRecord, RunHeader

try:
    import optuna
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.storages.journal import BaseJournalBackend
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial, TrialState, create_trial
except ModuleNotFoundError:
    raise ConfigError(
        "a study is written by Optuna: pip install 'exhaustion-optimizer[dashboard]'"
    ) from None


def write_study(store: RunStore, to: Path, sample: int) -> str:
    """Write the newest front and a sample of the other individuals as trials; a line on it.

    Trials stand in the order in which individuals were found, with their genes as parameters,
    their objectives as values, and their generation, parents and operator as attributes. An
    infeasible one is a failed trial with the reason. The sample is spread evenly over the run.
    """
    newest = newest_front(store)
    recorded = _all_individuals(store, newest)
    front = {genome.tobytes() for genome in newest.genomes}
    is_member = np.array(
        [candidate.tobytes() in front for candidate in recorded.population.genomes], np.bool_
    )
    others = np.flatnonzero(~is_member)
    sampled = others[evenly(len(others), sample)]
    chosen = np.sort(np.concatenate([np.flatnonzero(is_member), sampled]))
    header = RunHeader.read(store.header)
    trials = _build_trials(
        header, Recorded(recorded.population.take(chosen), recorded.born[chosen])
    )
    directions = [
        StudyDirection.MAXIMIZE if is_maximised(name) else StudyDirection.MINIMIZE
        for name in header.objectives
    ]
    journal = _Journal()
    with _silence():
        study = optuna.create_study(
            study_name=store.run_id,
            storage=optuna.storages.JournalStorage(journal),
            directions=directions,
        )
        study.set_metric_names(list(header.objectives))
        for field in ("strategy", "data", "is_simulated", "seed"):
            study.set_user_attr(field, getattr(header, field))
        if header.formulas:
            study.set_user_attr("formulas", dict(header.formulas))
        study.add_trials(trials)
    write_output(to, "".join(journal.lines))
    members = int(is_member.sum())
    return (
        f"written to {to}: {members:,} members of the front and {len(trials) - members:,} other "
        f"candidates; to look at it: optuna-dashboard {quote_word(to)}"
    )


class _Journal(BaseJournalBackend):
    """Lines as of Optuna's `JournalFileBackend`, which leaves files beside them when killed."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def read_logs(self, log_number_from: int) -> Iterable[dict[str, Any]]:
        return map(json.loads, self.lines[log_number_from:])

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        self.lines += [json.dumps(log, separators=(",", ":")) + "\n" for log in logs]


def _all_individuals(store: RunStore, front: Population) -> Recorded:
    """All recorded individuals, and after them finds of polishing alone."""
    recorded = recorded_individuals(store)
    known = {genome.tobytes() for genome in recorded.population.genomes}
    is_new = np.array([genome.tobytes() not in known for genome in front.genomes], np.bool_)
    extra = front.take(np.flatnonzero(is_new))
    newest = recorded.born.max(initial=0)
    return Recorded(
        Population.concat(recorded.population, extra),
        np.concatenate([recorded.born, np.full(len(extra), newest, np.int64)]),
    )


def _build_trials(header: RunHeader, chosen: Recorded) -> list[FrozenTrial]:
    population = natural(header, chosen.population)
    if np.isnan(population.objectives[population.failures == 0]).any():
        raise StoreError("a candidate lacks an objective, and no failure says why")
    distributions = {gene.name: _build_distribution(gene) for gene in header.genes}
    shown = header.show_genomes(population.genomes)
    trials: list[FrozenTrial] = []
    for i, born in enumerate(chosen.born.tolist()):
        failure = header.failure_names[population.failures[i]]
        params = {name: values[i] for name, values in shown.items()}
        trials.append(
            create_trial(
                state=TrialState.FAIL if population.failures[i] else TrialState.COMPLETE,
                values=None if population.failures[i] else population.objectives[i].tolist(),
                params={
                    name: int(value) if isinstance(distributions[name], IntDistribution) else value
                    for name, value in params.items()
                },
                distributions=distributions,
                user_attrs=_list_attributes(population, i, born, failure),
            )
        )
    return trials


def _build_distribution(gene: GeneRecord) -> BaseDistribution:
    if not gene.low <= gene.high:
        raise StoreError(f"the header does not say between which bounds {gene.name} lies")
    if gene.options:
        return CategoricalDistribution(gene.options[int(gene.low) : int(gene.high) + 1])
    if gene.kind == "int":
        return IntDistribution(int(gene.low), int(gene.high))
    return FloatDistribution(gene.low, gene.high, step=gene.step)


def _list_attributes(
    population: Population, index: int, born: int, failure: str
) -> dict[str, object]:
    """Generation, number, parents, operator and failure, as far as known."""
    line = dict(zip(LINEAGE, population.lineage[index].tolist(), strict=True))
    known: dict[str, object] = {name: code for name, code in line.items() if code != UNKNOWN}
    if "operator" in known:
        known["operator"] = OPERATORS[line["operator"]]
    if failure:
        known["failure"] = failure
    return {"generation": born, **known}


@contextmanager
def _silence() -> Iterator[None]:
    """Without Optuna's lines about its files, and about names of metrics being new there."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
