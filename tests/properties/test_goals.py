"""Laws of goals, of what a shell completes, and of differences between records."""

import os
import subprocess
from pathlib import Path

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from data.shell import quote_word, write_command
from engine.accounts.metrics import METRICS, MetricTable
from optimizer.cli.notes import wrap_text
from optimizer.goals.constraints import Constraint, over_windows, parse_constraint
from optimizer.goals.objectives import OBJECTIVES, Goals
from optimizer.printable import clean_text
from optimizer.run.record import different_lines
from optimizer.store.payload import encode

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


HOSTILE = st.lists(
    st.one_of(
        st.sampled_from([*"-~!$`'\"\\ \n\t*?#&|;<>(){}[]=%^", "$(id)", "\u202e", "\udce9"]),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
        st.integers(0x80, 0xFF).map(lambda byte: os.fsdecode(bytes([byte]))),
    ),
    min_size=1,
).map("".join)


@settings(max_examples=30)
@given(words=st.lists(HOSTILE, min_size=1, max_size=8), width=st.integers(10, 100))
def test_words_are_pasted_as_they_are(words, width):
    """Also where a terminal is narrow and shows no sign that commands it; none is a flag."""
    words = [os.fsdecode(os.fsencode(word)) for word in words]
    paths = [Path(word) for word in words if word.strip("/") and "/" not in word]
    line = write_command("judge", *words, *paths)
    assert clean_text(line, "") == line
    for word in filter(lambda word: "'" in word, map(quote_word, words)):
        assert word in wrap_text(f"see {word} there", width)
    program = line.removeprefix("python -m optimizer judge")
    shown = subprocess.run(["bash", "-c", f"printf '%s\\0' {program}"], capture_output=True)
    read = [os.fsdecode(word) for word in shown.stdout.split(b"\0")[:-1]]
    assert shown.stderr == b""
    assert read[: len(words)] == words
    assert [Path(word) for word in read[len(words) :]] == paths
    assert not [word for word in read[len(words) :] if word.startswith("-")]


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, -0.0, 1.0, 0.5])
    | st.sampled_from(["", "a", "name", "(absent)", "1"])
)
RECORDS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "a", "threads"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(RECORDS, RECORDS)
@example(0.0, -0.0)
@example([1], [True])
@example({"a": "(absent)"}, {})
@example(["a", "a"], ["a"])
def test_no_difference_is_skipped(one, other):
    """Whatever is nested in what, and whatever it is called."""
    same = encode(one, what="one") == encode(other, what="other")
    assert (different_lines(one, other) == ()) is same
    assert different_lines(one, one) == ()
