"""Laws of goals: who keeps what was asked stands before who does not, and NaN never counts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.accounts.metrics import METRICS, MetricTable
from optimizer.goals.constraints import Constraint, over_windows, parse_constraint
from optimizer.goals.objectives import OBJECTIVES, Goals

VALUES = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-3, 3),
    st.sampled_from([0.0, -0.0, 1.0, 1e300, -1e300, 5e-324]),
)
WAYS = st.sampled_from(["mean", "worst", "q1", "q25", "q50"])
SIGNS = st.sampled_from(["<", "<=", ">", ">="])
NAMES = st.sampled_from(["sharpe", "max_drawdown", "calmar", "win_rate"])
BOUNDS = st.one_of(st.floats(-2, 2), st.sampled_from([0.0, 1e290, -1e290, 5e-324]))
CONSTRAINTS = st.builds(
    Constraint, NAMES, SIGNS, BOUNDS, is_soft=st.booleans(), over=st.one_of(st.just(""), WAYS)
)


@st.composite
def judged_worlds(draw):
    """Goals, metrics of a few individuals, and the constraints that are hard."""
    objectives = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    constraints = draw(st.lists(CONSTRAINTS, max_size=3, unique_by=lambda one: one.name))
    goals = Goals(
        tuple(OBJECTIVES[name] for name in objectives),
        draw(st.integers(0, 5)),
        tuple(constraints),
        draw(WAYS),
    )
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    values = np.zeros((*shape, len(METRICS)))
    for name in ("sharpe", "max_drawdown", "calmar", "win_rate"):
        row = st.lists(VALUES, min_size=shape[1], max_size=shape[1])
        values[:, :, METRICS.index(name)] = [draw(row) for _ in range(shape[0])]
    trades = st.lists(st.integers(0, 9), min_size=shape[1], max_size=shape[1])
    values[:, :, METRICS.index("trades")] = [draw(trades) for _ in range(shape[0])]
    ruined = st.lists(st.sampled_from([False, False, True]), min_size=shape[1], max_size=shape[1])
    lost = np.array([draw(ruined) for _ in range(shape[0])])
    return goals, MetricTable(values, np.zeros(values.shape, np.int8), lost)


def keeps(goals, metrics, constraint):
    """Whether each individual keeps a constraint, by its own words."""
    how = constraint.over or goals.over
    column = metrics.column(constraint.metric)
    return constraint.holds(over_windows(column, how, more_is_better=constraint.wants_more))


@given(world=judged_worlds())
def test_who_is_feasible_keeps_everything_that_must_hold(world):
    """All others have a finite violation above 0, a failure, and no objectives."""
    goals, metrics = world
    judged = goals.judge(metrics)
    is_feasible = judged.violations == 0
    assert np.array_equal(is_feasible, judged.failures == 0)
    assert np.array_equal(is_feasible, np.isfinite(judged.objectives).all(axis=1))
    assert np.isnan(judged.objectives[~is_feasible]).all()
    assert (np.isfinite(judged.violations) & (judged.violations >= 0)).all()
    assert (judged.failures < len(goals.failure_names)).all()
    is_ruined = judged.failures == goals.failure_names.index("ruined")
    assert np.array_equal(is_ruined, metrics.ruined.any(axis=1))
    for constraint in goals.constraints:
        if not constraint.is_soft:
            assert keeps(goals, metrics, constraint)[is_feasible].all()


@given(constraint=CONSTRAINTS)
def test_a_constraint_reads_back_as_itself(constraint):
    """Whatever its bound is, in every bit."""
    assert parse_constraint(constraint.text) == constraint
