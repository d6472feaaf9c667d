"""A goal tried before a search: its values for drawn candidates, and why some have none."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from optimizer.goals.arithmetic import REASONS, evaluate
from optimizer.goals.constraints import POOLED
from optimizer.goals.formulas import read_formula
from optimizer.goals.near import NEAR
from optimizer.goals.objectives import Objective
from optimizer.run.problem import measure
from optimizer.run.task import Task
from optimizer.search.generation import Floats

INFEASIBLE = "infeasible neighbours"


@dataclass(frozen=True, eq=False)
class TriedGoal:
    """An objective of drawn candidates."""

    objective: Objective
    values: Floats  # [P], windows taken together; NaN where undefined
    undefined: Mapping[str, int]  # reasons, and how often each


def try_objective(task: Task, count: int) -> TriedGoal:
    """The first objective of a task for so many candidates, drawn within the bounds."""
    goals, objective = task.goals, task.goals.objectives[0]
    engine, genomes = task.engine(device="cpu"), task.random_individuals(count)
    problem = task.problem(engine)
    values = problem.measure_objectives(genomes)[:, 0]
    table, _ = measure(engine, genomes, problem.spans, goals.metrics)
    is_pooled = objective.over == POOLED or (goals.over == POOLED and objective.over in ("", NEAR))
    inputs = goals.read_inputs(table.pooled if is_pooled else table, genomes)
    reasons = evaluate(read_formula(objective.metric), inputs, explains=True).reasons
    counts: Counter[str] = Counter()
    for candidate in np.flatnonzero(np.isnan(values)).tolist():
        codes = [] if reasons is None else [code for code in reasons[candidate].tolist() if code]
        counts[REASONS[codes[0]] if codes else INFEASIBLE] += 1
    return TriedGoal(objective, values, dict(counts.most_common()))
