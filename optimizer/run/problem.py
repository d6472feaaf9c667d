"""Questions of searches to an engine, its answers as they judge them, and the trials so made."""

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from data import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX, Ledger
from engine.accounts.metrics import METRICS, MetricTable, Span, compute_metrics
from optimizer.goals.near import neighbourhoods
from optimizer.goals.objectives import Goals
from optimizer.search.compiled.variation import Seen
from optimizer.search.generation import Evaluation, Floats, no_evaluation
from strategy import GenomeLayout
from strategy.model import Strategy

MOST_TRIAL_BYTES = 2**28
"""Trials that take more than this, three million of ten genes, are not kept."""

TRADES = ACCUMULATOR_INDEX["trades"]


def trials_fit(count: int, n_genes: int) -> bool:
    """True if so many trials of so many genes are kept."""
    return count * (n_genes + 1) * 8 <= MOST_TRIAL_BYTES


class Evaluator(Protocol):
    """Engine as a search sees it, wherever its windows are; `engine.batch.Engine` is one."""

    @property
    def spec(self) -> Strategy:
        """The strategy."""

    @property
    def device(self) -> str:
        """Its device."""

    @property
    def device_reason(self) -> str:
        """Reason for that device."""

    @property
    def threads(self) -> int:
        """Cores that it uses."""

    def evaluate(self, genomes: Floats) -> Floats:
        """Accumulators [P, W, A] of genomes [P, G]."""

    def evaluate_account(self, genomes: Floats) -> tuple[Floats, Floats]:
        """The same, and accumulators of all windows as one account [P, A]."""

    def ledgers(self, genomes: Floats) -> Iterable[Sequence[Ledger]]:
        """Trades of genomes [N, G]: of each in order a ledger a window, [W]."""

    def on(self, windows: Sequence[Window]) -> "Evaluator":
        """The same for other windows of its series."""

    def memory_plan(self, individuals: int) -> object:
        """Memory that a population will take; its text is for people."""


class Trials:
    """The distinct individuals that a search judged, in the order of their first evaluation.

    Attributes:
        genomes: [N, G].
        trades: [N], over all windows.
        first: How many of them generation 0 is made of.
    """

    def __init__(self, genomes: Floats, trades: Floats, first: int) -> None:
        is_known = Seen(np.ascontiguousarray(genomes), 0).admit(np.arange(len(genomes)))
        distinct = np.flatnonzero(~is_known)
        self.genomes, self.trades = genomes[distinct], trades[distinct]
        self.first = int(np.searchsorted(distinct, first))

    def __len__(self) -> int:
        return len(self.genomes)


@dataclass
class JustSearched:
    """Remains of a search that has just ended in this process, for a judge."""

    trials: Trials | None = None  # None where they were not kept
    engine: Evaluator | None = None  # that evaluated them, with its rows, until it is taken

    def take_engine(self) -> Evaluator | None:
        """The engine, which is not kept here any more: who takes it ends it."""
        engine, self.engine = self.engine, None
        return engine


@dataclass(frozen=True)
class Judge:
    """Goals of a search without neighbours, and its windows."""

    goals: Goals
    spans: tuple[Span, ...]  # [W]


class Question(NamedTuple):
    """Question of a search to an engine."""

    genomes: Floats  # [P, G], P at least 1
    pools: bool  # whether to answer for all windows as one account too
    judge: Judge | None = None  # of the engine's answer, to be judged by it


class JudgedGenomes(NamedTuple):
    """Individuals by the answers of an engine."""

    evaluation: Evaluation  # of P individuals
    trades: Floats  # [P] over all windows


class Answer(NamedTuple):
    """Answer of an engine."""

    accumulators: Floats  # [P, W, A]
    account: Floats | None  # [P, A] of all windows as one account, if asked
    judged: JudgedGenomes | None = None  # if asked

    @property
    def joint(self) -> Floats:
        """Accumulators [P, A] of all windows as one account; one window is its own."""
        return self.accumulators[:, 0] if self.account is None else self.account


Result = TypeVar("Result")
Key = TypeVar("Key", bound=Hashable)

Asking = Generator[Question, Answer, Result]
"""Asks until it knows a result; it cannot see others that advance with it."""


def run_alone(search: Asking[Result], engine: Evaluator) -> Result:
    """Result of one search, asked of an engine over all its windows."""
    # A generator begins by being sent nothing.
    answered: Any = None
    with closing(search):
        while True:
            try:
                question = search.send(answered)
            except StopIteration as ended:
                result: Result = ended.value
                return result
            if question.pools:
                found = Answer(*engine.evaluate_account(question.genomes))
            else:
                found = Answer(engine.evaluate(question.genomes), None)
            (answered,) = judge_together([question], [found])


def run_in_step(
    searches: Mapping[Key, Asking[Result]],
    answer: Callable[[Mapping[Key, Question]], Sequence[Answer]],
) -> Iterator[tuple[Key, Result]]:
    """Result of each of several searches, as they end; the others go on.

    Args:
        searches: By key.
        answer: Answers what those searches ask that have not ended, in their order.
    """
    going = dict(searches)
    # A generator begins by being sent nothing.
    answers: Sequence[Any] = [None] * len(going)
    try:
        while going:
            questions = {}
            for key, answered in zip(list(going), answers, strict=True):
                try:
                    questions[key] = going[key].send(answered)
                    continue
                except StopIteration as ended:
                    result: Result = ended.value
                del going[key]
                yield key, result
            answers = answer(questions) if questions else []
    finally:
        for search in going.values():
            search.close()


def judge_together(questions: Sequence[Question], answers: Sequence[Answer]) -> list[Answer]:
    """Answers of an engine with their judgements, as each alone would be judged.

    Those of one judge are judged at once: arrays of a few hundred take little longer than one
    individual does.
    """
    judged = list(answers)
    waiting = [number for number, question in enumerate(questions) if question.judge is not None]
    while waiting:
        judge = questions[waiting[0]].judge
        assert judge is not None
        same = [number for number in waiting if questions[number].judge == judge]
        waiting = [number for number in waiting if number not in same]
        of_judge = [answers[number] for number in same]
        genomes_of = [questions[number].genomes for number in same]
        parts = _judge_answers(judge, genomes_of, of_judge)
        for number, part in zip(same, parts, strict=True):
            judged[number] = answers[number]._replace(judged=part)
    return judged


def _judge_answers(
    judge: Judge, genomes_of: Sequence[Floats], answers: Sequence[Answer]
) -> Iterator[JudgedGenomes]:
    """Judgements of each of several answers about genomes [P, G] each, made at once."""
    first, ends = answers[0], np.cumsum([len(each.accumulators) for each in answers]).tolist()
    together = first
    if len(answers) > 1:
        accounts = [each.account for each in answers if each.account is not None]
        together = Answer(
            np.concatenate([each.accumulators for each in answers]),
            np.concatenate(accounts) if accounts else None,
        )
    metrics, trades = _tabulate(together, judge.spans, judge.goals.metrics)
    genomes = np.concatenate(genomes_of) if judge.goals.genes else None
    evaluation = judge.goals.judge(metrics, genomes=genomes)
    for begin, end in pairwise((0, *ends)):
        of_answer = (
            evaluation.objectives[begin:end],
            evaluation.violations[begin:end],
            evaluation.failures[begin:end],
        )
        yield JudgedGenomes(Evaluation(*of_answer), trades[begin:end])


def measure(
    engine: Evaluator,
    genomes: Floats,
    spans: Sequence[Span],
    names: Sequence[str] = METRICS,
    *,
    pools: bool = True,
) -> tuple[MetricTable, Floats]:
    """Metrics of genomes [P, G], and their trades [P] over all windows.

    `spans` [W] are the lengths of the engine's windows, `names` the metrics; with `pools` those of
    all windows as one account too.
    """
    return run_alone(_ask_metrics(genomes, spans, names, pools and len(spans) > 1), engine)


def _ask_metrics(
    genomes: Floats, spans: Sequence[Span], names: Sequence[str], pools: bool
) -> Asking[tuple[MetricTable, Floats]]:
    """The same; its caller evaluates."""
    return _tabulate((yield Question(genomes, pools)), spans, names)


def _tabulate(
    answered: Answer, spans: Sequence[Span], names: Sequence[str]
) -> tuple[MetricTable, Floats]:
    """Metrics of individuals [P], and their trades [P] over all windows."""
    table = compute_metrics(answered.accumulators, spans, names, answered.account)
    return table, answered.accumulators[:, :, TRADES].sum(axis=1)


class EngineProblem:
    """Judges the answers of an engine; `spans` [W] are the lengths of its windows."""

    def __init__(self, goals: Goals, spans: Sequence[Span], engine: Evaluator) -> None:
        self.goals = goals
        self.spans = tuple(spans)
        self.engine = engine
        self._judge, self._pools = Judge(goals, self.spans), goals.pools and len(self.spans) > 1
        self._judged: list[tuple[Floats, Floats]] | None = None
        self._n_bytes = 0

    @property
    def layout(self) -> GenomeLayout:
        """Genes, bounds and constraints."""
        return self.engine.spec.layout

    @property
    def n_objectives(self) -> int:
        """Number of objectives O."""
        return len(self.goals.names)

    @property
    def failure_names(self) -> tuple[str, ...]:
        """Names of the failure codes."""
        return self.goals.failure_names

    def evaluate(self, genomes: Floats) -> Evaluation:
        """Judge genomes [P, G]."""
        return run_alone(self.judge(genomes), self.engine)

    def judge(self, genomes: Floats) -> Asking[Evaluation]:
        """Judge genomes [P, G]; its caller evaluates, unless P is 0."""
        if not len(genomes):
            return no_evaluation(self.n_objectives)
        if self.goals.near:
            metrics, trades, near = yield from self._measure_with_neighbours(genomes)
            judged = JudgedGenomes(self.goals.judge(metrics, near, genomes), trades)
        else:
            answered = yield Question(genomes, self._pools, self._judge)
            assert answered.judged is not None
            judged = answered.judged
        if self._judged is not None:
            self._keep(genomes, judged.trades)
        return judged.evaluation

    def measure_objectives(self, genomes: Floats) -> Floats:
        """Values of genomes [P, G] in each objective, feasible or not, [P, O]; NaN if undefined.

        That of soft constraints is not among them.
        """
        return run_alone(self.ask_objectives(genomes), self.engine)

    def ask_objectives(self, genomes: Floats) -> Asking[Floats]:
        """The same; its caller evaluates."""
        metrics, _, near = yield from self._measure_with_neighbours(genomes)
        return self.goals.compute_objectives(metrics, near, genomes)

    def keep_trials(self) -> None:
        """From now on keep all that is judged, while it fits memory."""
        self._judged, self._n_bytes = [], 0

    def trials(self) -> Trials | None:
        """Trials kept, and no more from now on; None where they were too many or left out."""
        judged, self._judged = self._judged, None
        if not judged:
            return None
        genomes, trades = (np.concatenate(parts) for parts in zip(*judged, strict=True))
        return Trials(genomes, trades, len(judged[0][0]))

    def _measure_with_neighbours(
        self, genomes: Floats
    ) -> Asking[tuple[MetricTable, Floats, Floats | None]]:
        """Metrics of genomes [P, G], their trades [P], and what `near` objectives reach."""
        asked = self.spans, self.goals.metrics, self._pools
        metrics, trades = yield from _ask_metrics(genomes, *asked)
        if not self.goals.near:
            return metrics, trades, None
        around = neighbourhoods(self.layout, genomes)
        beside, _ = yield from _ask_metrics(around.genomes, *asked)
        return metrics, trades, self.goals.values_near(around, beside)

    def _keep(self, genomes: Floats, trades: Floats) -> None:
        self._n_bytes += genomes.nbytes + trades.nbytes
        if self._judged is not None and self._n_bytes <= MOST_TRIAL_BYTES:
            self._judged.append((genomes.copy(), trades))
        else:
            self._judged = None
