"""Law of bars in memory, beside the rows of the corpus that break it in a file."""

import numpy as np
import pytest

from data.errors import BarsError
from tests.support.series import make_bars, make_columns


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("open", np.nan, "missing or not finite"), ("volume", -np.inf, "missing or not finite"),
     ("low", 0.0, "price that is not above zero"), ("volume", -1.0, "negative volume"),
     ("low", 101.9, "low above open or close"), ("high", 100.7, "high below open or close"),
     ("timestamp", -(2**63), "without a time"),
     ("timestamp", 5_000_000_000 * 10**9, "outside 1900 to 2100")],
)  # fmt: skip
def test_illegal_value_is_refused_with_row_and_option(name, value, words):
    """The message names the fault, the row and the option that drops it."""
    column = make_columns(8)[name]
    column[3] = value
    with pytest.raises(BarsError, match=rf"1 row.*{words}: row 3 \(.*--drop-bad-bars"):
        make_bars(8, **{name: column})
