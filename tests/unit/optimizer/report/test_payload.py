"""What a page carries comes back exactly, and no name can break out of it."""

import numpy as np
import pytest

from optimizer.report.page import pack
from tests.support.pages import unpack_page


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
    content = unpack_page(pack(given))
    assert content["floats"].tobytes() == given["floats"].tobytes()
    assert content["whole"].tolist() == list(range(7))
    assert content["truths"].tolist() == [1, 0]
    assert content["table"].tolist() == given["table"].tolist()
    assert (content["short"][0], len(content["empty"])) == (1.25, 0)


def test_numbers_that_json_lacks_are_null():
    """A page must stay strict JSON."""
    assert unpack_page(pack([float("nan"), float("inf"), np.float64(2.0), None])) == [
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
    assert unpack_page(text) == {name: name}
