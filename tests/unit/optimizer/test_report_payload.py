"""What a page carries comes back exactly, and no name can break out of it."""

import numpy as np
import pytest

from optimizer.report.page import compressed, pack, plotly_script
from tests.support.pages import unpacked


def test_arrays_come_back_with_their_bits():
    """Floats keep NaN, whole numbers and truths become 32-bit integers, shapes stay."""
    given = {
        "floats": np.array([1.5, np.nan, -0.0]),
        "short": np.array([1.25], np.float32),
        "whole": np.arange(7),
        "truths": np.array([True, False]),
        "table": np.arange(6.0).reshape(2, 3),
        "empty": np.empty(0),
    }
    found = unpacked(pack(given))
    assert found["floats"].tobytes() == given["floats"].tobytes()
    assert found["whole"].tolist() == list(range(7))
    assert found["truths"].tolist() == [1, 0]
    assert found["table"].tolist() == given["table"].tolist()
    assert (found["short"][0], len(found["empty"])) == (1.25, 0)


def test_numbers_that_json_lacks_are_null():
    """A page must stay strict JSON."""
    assert unpacked(pack([float("nan"), float("inf"), np.float64(2.0), None])) == [
        None,
        None,
        2.0,
        None,
    ]


@pytest.mark.parametrize("name", ["</script>", "<!--", "\u2028", "🦊", "a" * 10_000])
def test_a_name_cannot_end_the_element_that_holds_it(name):
    """What stands in the page has no markup in it, and comes back as it was."""
    text = pack({name: name})
    assert not set(text) & set("<>&\"'")
    assert unpacked(text) == {name: name}


def test_the_same_content_gives_the_same_page():
    """No time of making is in it."""
    assert compressed(b"abc") == compressed(b"abc")
    assert b"plotly.js" in plotly_script()[:200]
