"""Laws of conditions, over random trees and markets: `not` moved inwards is three-valued `not`."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from strategy.conditions import AllOf, AnyOf, Compare, Held, Within, negate_condition
from strategy.expressions import Call, Column, Number
from strategy.rows import Rows
from strategy.series import Series
from strategy.signals import truth
from tests.support.worlds import markets

ROWS = (
    Column("close"),
    Column("open"),
    Column("close_location"),
    Call("sma", Column("close"), (Number(3),)),
    Call("rsi", Column("close"), (Number(2),)),
    Call("zscore", Column("volume"), (Number(4),)),
)
SIDES = st.sampled_from((*ROWS, Number(0.5), Number(70.0)))


@st.composite
def compares(draw):
    """A comparison, now or at an earlier bar."""
    relation = draw(st.sampled_from((">", "<", ">=", "<=")))
    ago = draw(st.integers(0, 2))
    return Compare(draw(st.sampled_from(ROWS)), relation, draw(SIDES), ago)


def join_conditions(inner):
    """Conditions of conditions."""
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    bars = st.integers(1, 5).map(Number)
    return st.one_of(
        st.builds(AllOf, parts),
        st.builds(AnyOf, parts),
        st.builds(Held, inner, bars),
        st.builds(Within, inner, bars),
        inner.map(negate_condition),
    )


CONDITIONS = st.recursive(compares(), join_conditions, max_leaves=8)


def three_valued(condition, rows):
    """1 where it is true, 0 where it is false, a half where it is neither, [T]."""
    length = len(rows.series)
    if isinstance(condition, Compare):
        sides = [np.broadcast_to(rows.of(s), length) for s in (condition.left, condition.right)]
        compared = {
            ">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal,
        }[condition.relation](*sides)  # fmt: skip
        known = ~(np.isnan(sides[0]) | np.isnan(sides[1]))
        return earlier(np.where(known, compared, 0.5), condition.bars_ago)
    if isinstance(condition, AllOf | AnyOf):
        parts = [three_valued(part, rows) for part in condition.conditions]
        return (np.minimum if isinstance(condition, AllOf) else np.maximum).reduce(parts)
    inner = three_valued(condition.condition, rows)
    window = [earlier(inner, ago) for ago in range(int(condition.bars.value))]
    return (np.minimum if isinstance(condition, Held) else np.maximum).reduce(window)


def earlier(values, ago):
    """Values so many bars ago; before bar 0 nothing is known."""
    return np.concatenate((np.full(ago, 0.5), values))[: len(values)]


@given(bars=markets(60), condition=CONDITIONS)
def test_two_values_are_enough(bars, condition):
    """A condition is true where the third value is true, its opposite where it is false."""
    rows = Rows(Series.of(bars))
    expected = three_valued(condition, rows)
    np.testing.assert_array_equal(truth(condition, rows, {}), expected == 1.0)
    np.testing.assert_array_equal(truth(negate_condition(condition), rows, {}), expected == 0.0)


@given(bars=markets(60), condition=CONDITIONS, cut=st.integers(1, 60))
def test_no_condition_depends_on_later_bars(bars, condition, cut):
    """Cut after any bar."""
    whole = truth(condition, Rows(Series.of(bars)), {})
    part = truth(condition, Rows(Series.of(bars.until(cut))), {})
    np.testing.assert_array_equal(part, whole[:cut])
