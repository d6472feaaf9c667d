"""Two records have no different line just when they are the same bytes."""

from hypothesis import example, given
from hypothesis import strategies as st

from optimizer.run.record import different_lines
from optimizer.store.payload import encode

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
