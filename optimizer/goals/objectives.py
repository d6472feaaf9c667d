"""Goals of a search: metrics and formulas of them to minimise, and infeasibility with its reason.

An individual is infeasible, with a named reason, when it lost all its equity, when it trades too
seldom to be judged, when an objective is undefined, or when it breaks a hard constraint. All is
settled here, before any ranking, so that no NaN and no infinity is ever compared with a number.
A metric that is undefined because nothing was lost keeps every constraint that wants more of it,
and is the best as an objective to maximise; among several the one of more trades is best.
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from engine.accounts.account import ACCOUNT_METRICS
from engine.accounts.metrics import FORMULAS, METRICS, MetricTable
from optimizer.errors import ConfigError
from optimizer.formatting import HELD_OUT, MEANINGS, NEVER_LOST, WITHOUT_LOSSES
from optimizer.goals.arithmetic import Inputs, check_powers, evaluate, list_values
from optimizer.goals.constraints import (
    POOLED,
    Constraint,
    check_aggregation,
    measure_misses,
    over_windows,
    sum_columns,
)
from optimizer.goals.formulas import (
    ALIASES,
    FUNCTIONS,
    LONGEST_QUOTE,
    FormulaNode,
    explain_metric,
    quote,
    read_formula,
    split_list,
)
from optimizer.goals.near import NEAR, Neighbourhoods
from optimizer.other_programs import describe_other, describe_unknown
from optimizer.search.generation import Evaluation, Floats, Indices
from strategy.errors import unknown

TOO_FEW_TRADES = "too_few_trades"
"""Name of the failure of individuals with fewer trades than `Goals.min_trades`."""

RUINED = "ruined"
"""Name of the failure of individuals that lost all their equity in one of the windows."""

MISSED = "missed"
"""Name of the objective that soft constraints make: how far they are missed, on the mean."""

DIRECTIONS = {"max": True, "min": False}

_TEXT = re.compile(
    r"(?:(?P<name>[^\W\d]\w*)\s*=(?!=))?(?P<formula>[^:@]*)"
    r"(?::(?P<direction>\w*))?(?:@(?P<over>\w*))?"
)

LONGEST_NAME = 40


@dataclass(frozen=True)
class Objective:
    """One thing to strive for.

    Raises:
        ConfigError: When there is no such metric, and it is no formula.
    """

    # Short for people: a metric, the name of a formula, or the formula; with ``:min`` or ``:max``
    # if turned, and with the way of taking windows together behind ``@``.
    name: str
    metric: str  # or a formula in canonical text
    maximise: bool  # whether more of it is better
    # How windows are taken together, empty for the way of the run; or ``near``, that of a
    # member and its neighbours, with windows taken together the way of the run.
    over: str = ""

    @property
    def is_near(self) -> bool:
        """True if it reads the neighbours too."""
        return self.over == NEAR

    @property
    def alone(self) -> "Objective":
        """The same without its neighbours."""
        return replace(self, name=self.name.removesuffix(f"@{NEAR}"), over="")

    def __post_init__(self) -> None:
        read_formula(self.metric)

    @property
    def is_formula(self) -> bool:
        """True if it is none of the metrics shown."""
        return self.metric not in METRICS


MINIMISED, NEITHER = ("exposure", "max_drawdown", "max_drawdown_r"), ("mean_hold_bars", "std_r")
"""Metrics of which less is better, and those of which neither is; of others more is."""

OBJECTIVES = {
    name: Objective(name, metric=ALIASES.get(name, name), maximise=name not in MINIMISED)
    for name in sorted(METRICS)
    if name not in NEITHER
}
"""All objectives by name; each bears the name of its metric, but for expectancy, the mean of R."""


@dataclass(frozen=True)
class Goals:
    """The objectives of a run and its constraints.

    Raises:
        ConfigError: When objectives are missing or repeat.
    """

    objectives: tuple[Objective, ...]  # at least one, no two the same
    min_trades: int = 30  # individuals with fewer trades are infeasible, at least 0
    # What must hold beside it. Breaking a hard one is infeasible; soft ones add one
    # objective, `MISSED`, the mean of how far each is missed, 0 where all hold.
    constraints: tuple[Constraint, ...] = ()
    # How the windows of a metric are taken together if it names no other way, trades
    # included; unless pooled, a metric that is undefined in one window is undefined.
    over: str = POOLED
    gene_names: tuple[str, ...] = ()  # [G], for formulas that read genes

    def __post_init__(self) -> None:
        if not self.objectives:
            raise ConfigError(f"no objective given; known: {', '.join(OBJECTIVES)}")
        seen: dict[tuple[str, str], str] = {}
        for objective in self.objectives:
            name, key = objective.name, (objective.metric, objective.over or self.over)
            if seen.get(key) == name:
                raise ConfigError(f"objective '{name}' is given more than once")
            if key in seen:
                raise ConfigError(
                    f"objective '{name}' is the same as '{seen[key]}': leave one of them out"
                )
            if name in seen.values():
                raise ConfigError(f"objective '{name}' is the name of two formulas")
            seen[key] = name
        check_aggregation(self.over)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the objectives [O], that of soft constraints last."""
        soft = (MISSED,) if any(constraint.is_soft for constraint in self.constraints) else ()
        return (*(objective.name for objective in self.objectives), *soft)

    @cached_property
    def maximised(self) -> tuple[bool, ...]:
        """Truths [O]: more of an objective is better."""
        return tuple(is_maximised(name) for name in self.names)

    @cached_property
    def failure_names(self) -> tuple[str, ...]:
        """Names of the failure codes: none, too few trades, ruin, the undefined, the broken."""
        undefined = (f"undefined:{goal.name}" for goal in self.objectives)
        unknown_bounds = (f"undefined:{constraint.name}" for constraint in self.constraints)
        broken = (f"broken:{bound.name}" for bound in self.constraints if not bound.is_soft)
        return ("", TOO_FEW_TRADES, RUINED, *undefined, *unknown_bounds, *broken)

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Metrics of a judgement, in the order of `FORMULAS`."""
        wanted = {"trades", *chain(*(term.list_names("metric") for term in self._terms))}
        return tuple(name for name in FORMULAS if name in wanted)

    @cached_property
    def genes(self) -> tuple[str, ...]:
        """Genes that formulas read."""
        return tuple(dict.fromkeys(chain(*(term.list_names("gene") for term in self._terms))))

    @cached_property
    def formulas(self) -> dict[str, str]:
        """Formulas of the objectives that have a name of their own, by it."""
        return {
            goal.name: goal.metric
            for goal in self.objectives
            if (base := find_base(goal.name)) != goal.metric and base not in OBJECTIVES
        }

    @cached_property
    def _terms(self) -> tuple[FormulaNode, ...]:
        """Formulas of objectives and constraints."""
        goals: tuple[Objective | Constraint, ...] = (*self.objectives, *self.constraints)
        return tuple(read_formula(goal.metric) for goal in goals)

    @cached_property
    def near(self) -> tuple[Objective, ...]:
        """The objectives [N] that ask the neighbours too."""
        return tuple(objective for objective in self.objectives if objective.is_near)

    @cached_property
    def alone(self) -> "Goals":
        """The same goals without any neighbours: they decide if a neighbour is feasible."""
        alone = [goal.alone if goal.is_near else goal for goal in self.objectives]
        distinct = {(goal.metric, goal.over or self.over): goal for goal in alone}
        return replace(self, objectives=tuple(distinct.values()))

    def judge(
        self, metrics: MetricTable, near: Floats | None = None, genomes: Floats | None = None
    ) -> Evaluation:
        """Turn metrics into objectives to minimise, violations and failures.

        A violation is the distance of an individual from feasibility, so that a search without any
        feasible individual still has a direction. With C hard constraints it is

        - with too few trades: the missing share of `min_trades`, plus how far each hard constraint
          is missed, above 0 and up to 1 + C;
        - else with something undefined: 1 + C plus the mean of the undefined share of objectives
          and constraints and 1 / (1 + trades), up to 2 + C; the failure names the first of them.
          More trades count as nearer, since most undefined metrics only lack trades;
        - else how far each hard constraint is missed, up to C; the failure names the most missed.

        An individual ruined in any window is that and nothing else: 2 + C plus the share of such
        windows, so that all others are nearer.

        Objectives of infeasible individuals are NaN.

        Args:
            metrics: Of P individuals in W windows, W at least 1; undefined if not finite.
            near: [P, N] as of `values_near`.
            genomes: [P, G], where a formula reads genes.
        """
        inputs = self.read_inputs(metrics, genomes)
        trades = self._over(inputs, "trades")  # [P]
        reached = self._list_objective_values(inputs, near)  # O times [P]
        bounded = {
            c: self._over(inputs, c.metric, c.over, more_is_better=c.wants_more)
            for c in self.constraints
        }
        hard = measure_misses(bounded, len(trades), is_soft=False)  # [P, C]
        # A row for each of them: numpy goes through short rows of many individuals slowly.
        is_undefined = np.isnan(np.stack([*reached, *bounded.values()]))  # [N, P]
        is_rare = trades < self.min_trades
        is_vague = ~is_rare & is_undefined.any(axis=0)
        missed = sum_columns(hard)
        shortfall = (self.min_trades - trades) / max(self.min_trades, 1)
        violations = np.where(is_rare, shortfall + missed, missed)
        codes = self._most_broken(hard)
        if is_vague.any():
            undefined_share = is_undefined.sum(axis=0) / len(is_undefined)
            vagueness = 1.0 + hard.shape[1] + 0.5 * (undefined_share + 1 / (1 + trades))
            violations = np.where(is_vague, vagueness, violations)
            for row in reversed(range(len(is_undefined))):
                codes[is_vague & is_undefined[row]] = 3 + row
        codes[is_rare] = 1
        if metrics.ruined.any():
            ruined_share = metrics.ruined.sum(axis=1) / metrics.ruined.shape[1]
            is_ruined = ruined_share > 0
            violations = np.where(is_ruined, 2.0 + hard.shape[1] + ruined_share, violations)
            codes[is_ruined] = 2
        soft = measure_misses(bounded, len(trades), is_soft=True)
        if soft.shape[1]:
            reached.append(sum_columns(soft) / soft.shape[1])
        objectives = self._signs * np.column_stack(reached)
        objectives[violations > 0] = np.nan
        return Evaluation(objectives, violations, codes.astype(np.int16))

    @property
    def pools(self) -> bool:
        """True if any goal is of all windows as one account."""
        goals: tuple[Objective | Constraint, ...] = (*self.objectives, *self.constraints)
        return POOLED in (self.over, *(goal.over for goal in goals))

    def compute_objectives(
        self, metrics: MetricTable, near: Floats | None, genomes: Floats
    ) -> Floats:
        """Values of individuals in each objective, feasible or not, [P, O]; NaN if undefined."""
        return np.column_stack(
            self._list_objective_values(self.read_inputs(metrics, genomes), near)
        )

    def read_inputs(self, metrics: MetricTable, genomes: Floats | None) -> Inputs:
        """Inputs of formulas: metrics of P individuals, with genomes [P, G]."""
        columns = {} if genomes is None else dict(zip(self.gene_names, genomes.T, strict=False))
        return Inputs(metrics, columns)

    def _list_objective_values(self, inputs: Inputs, near: Floats | None) -> list[Floats]:
        """Values of individuals in each objective, O times [P]."""
        of_near = iter(() if near is None else near.T)
        return [
            next(of_near)
            if goal.is_near
            else self._over(inputs, goal.metric, goal.over, more_is_better=goal.maximise)
            for goal in self.objectives
        ]

    def values_near(self, around: Neighbourhoods, metrics: MetricTable) -> Floats:
        """Values in each objective of `near`, [P, N], from metrics of all neighbourhoods [U]."""
        inputs = self.read_inputs(metrics, around.genomes)
        values = np.column_stack(
            [self._over(inputs, o.metric, more_is_better=o.maximise) for o in self.near]
        )
        is_feasible = self.alone.judge(metrics, genomes=around.genomes).violations == 0
        feasible = np.where(is_feasible[:, None], values, np.nan)
        return around.worst_quarter(feasible, [o.maximise for o in self.near])

    def natural(self, objectives: Floats) -> Floats:
        """Turn minimised objectives [..., O] back to the sign that people know."""
        natural: Floats = self._signs * objectives + 0.0
        return natural

    def name_objectives(self, objectives: Floats) -> dict[str, float]:
        """Minimised objectives [O] by name, in the sign that people know."""
        return dict(zip(self.names, self.natural(objectives).tolist(), strict=True))

    @cached_property
    def _signs(self) -> Floats:
        """-1 for each objective that is maximised, else 1, [O]."""
        return np.where(self.maximised, -1.0, 1.0)

    def _over(
        self, inputs: Inputs, metric: str, over: str = "", *, more_is_better: bool = True
    ) -> Floats:
        """A metric or a formula [P], its windows taken together."""
        how, term = over or self.over, read_formula(metric)
        table = inputs.table.pooled if how == POOLED else inputs.table
        if term.kind == "metric":
            values = list_values(table, metric)
        else:
            numbers = evaluate(term, inputs._replace(table=table)).numbers
            values = np.broadcast_to(numbers, table.values.shape[:2])
        if how == POOLED:
            together = values[:, 0]
        else:
            together = over_windows(values, how, more_is_better=more_is_better)
        if WITHOUT_LOSSES.keys().isdisjoint(term.list_names("metric")):
            return together
        sign = 1.0 if more_is_better else -1.0
        best = NEVER_LOST + self._over(inputs, "trades")
        towards = sign * together
        finite = np.where(np.isinf(towards), np.nan, np.minimum(towards, NEVER_LOST))
        return sign * np.where(towards == np.inf, best, finite)

    def _most_broken(self, hard: Floats) -> Indices:
        """Failure code [P] of the hard constraint that is missed most, 0 where all hold."""
        if not hard.shape[1]:
            return np.zeros(len(hard), np.int64)
        first = len(self.failure_names) - hard.shape[1]
        return np.where(hard.any(axis=1), first + hard.argmax(axis=1), 0)


def find_base(name: str) -> str:
    """A metric, a formula or its name, in the name of an objective."""
    return name.partition("@")[0].partition(":")[0]


def is_maximised(name: str) -> bool:
    """True if more is better of an objective that bears this name in a result."""
    base, _, direction = name.partition("@")[0].partition(":")
    if direction or base not in OBJECTIVES:
        return direction != "min" and name != MISSED
    return OBJECTIVES[base].maximise


def find_metric(name: str) -> str | None:
    """Metric of an objective that bears this name in a result; None of a formula."""
    base = find_base(name)
    metric = ALIASES.get(base, base)
    return metric if metric in METRICS else None


def parse_objective(text: str) -> Objective:
    """Read one objective: a metric or a formula, maybe with a name before it.

    ``:min`` or ``:max`` turns it; ``@pooled``, ``@mean``, ``@worst`` or ``@q25`` is how windows are
    taken together; ``@near`` asks the neighbours too. More of a formula is better.

    Raises:
        ConfigError: When something in it is unknown (the nearest one is offered).

    >>> parse_objective("trades:min@worst")
    Objective(name='trades:min@worst', metric='trades', maximise=False, over='worst')
    >>> parse_objective("robust = cagr/max(max_drawdown, 5%)")
    Objective(name='robust', metric='cagr / max(max_drawdown, 0.05)', maximise=True, over='')
    """
    text = text.strip()
    match = _TEXT.fullmatch(text)
    if match is None and len(text) <= LONGEST_QUOTE and (answer := describe_other(text)):
        raise ConfigError(f"objective {answer}")
    if match is None:
        raise ConfigError(
            f"objective {quote(text)} must look like sharpe, trades:min, sharpe@worst, "
            "or calm = cagr / max(max_drawdown, 0.05)"
        )
    name, direction, over = match["name"], match["direction"], match["over"]
    formula = match["formula"].strip()
    term = _read_term(text, formula, text.index(formula, match.start("formula")))
    if direction is not None and direction not in DIRECTIONS:
        raise ConfigError(
            f"objective {quote(text)}: {unknown('direction', direction, ['max', 'min'])}"
        )
    base = formula if formula in OBJECTIVES else term.text
    if term.name and base not in OBJECTIVES and direction is None:
        raise ConfigError(
            f"objective {quote(text)}: write {base}:max or {base}:min, more or less of it"
        )
    published = base not in OBJECTIVES or OBJECTIVES[base].maximise
    maximise = published if direction is None else DIRECTIONS[direction]
    shown = base if name is None else _check_name(name, text)
    is_turned = maximise != (shown not in OBJECTIVES or OBJECTIVES[shown].maximise)
    is_said = term.name and shown == term.text and shown not in OBJECTIVES
    turned = f":{'max' if maximise else 'min'}" if is_turned or is_said else ""
    if over is None:
        return Objective(f"{shown}{turned}", term.text, maximise)
    if over != NEAR:
        try:
            check_aggregation(over)
        except ConfigError as error:
            raise ConfigError(f"objective {quote(text)}: {error}, or {NEAR}") from None
    return Objective(f"{shown}{turned}@{over}", term.text, maximise, over)


def _read_term(text: str, formula: str, begin: int) -> FormulaNode:
    """Formula of an objective, errors with the place in its whole text."""
    is_word = re.fullmatch(r"\w*", formula) and len(formula) <= LONGEST_QUOTE
    if is_word and ALIASES.get(formula, formula) not in FORMULAS:
        if formula in ACCOUNT_METRICS:
            raise ConfigError(f"objective {quote(text)}: {explain_metric(formula)}")
        raise ConfigError(describe_unknown("objective", formula, list(OBJECTIVES)))
    try:
        term = read_formula(" " * begin + formula)
        check_powers(term)
    except ConfigError as error:
        answer = describe_other(text) if len(text) <= LONGEST_QUOTE else ""
        raise ConfigError(f"objective {answer or f'{quote(text)} {error}'}") from None
    if term.is_constant:
        raise ConfigError(f"objective {quote(text)} names neither a metric nor a gene")
    return term


def _check_name(name: str, text: str) -> str:
    """The name of a formula, which nothing else has."""
    if name in (*MEANINGS, *FORMULAS, *FUNCTIONS, MISSED, "gene") or name.startswith(HELD_OUT):
        raise ConfigError(f"objective {quote(text)}: '{name}' is taken, name it otherwise")
    if len(name) > LONGEST_NAME:
        raise ConfigError(f"objective {quote(text)}: a name has up to {LONGEST_NAME} letters")
    return name


def parse_objectives(text: str) -> tuple[Objective, ...]:
    """Read objectives between commas, such as ``"sharpe,min(cagr, 1)@worst"``.

    Raises:
        ConfigError: Naming every one that is wrong or missing.
    """
    objectives: list[Objective] = []
    problems: list[str] = []
    for part in split_list(text):
        if not part:
            raise ConfigError(
                f"objectives {quote(text)} lack a name; known: {', '.join(OBJECTIVES)}"
            )
        try:
            objectives.append(parse_objective(part))
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("; ".join(problems))
    return tuple(objectives)
