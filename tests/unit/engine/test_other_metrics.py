"""Other libraries as oracles: what must agree does, to nine digits, and what differs says why."""

import warnings

import pytest

from tests.bench.other_metrics import LIBRARIES, measure_sample


@pytest.mark.parametrize("name", LIBRARIES)
def test_numbers_of_other_libraries(name):
    """Rows without a reason are equal; a row with one differs, else the reason explains nothing."""
    # They warn of pandas' future and of fonts while they are imported.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip(name, reason="the library is not installed")
        rows = list(LIBRARIES[name](measure_sample()))
    assert len(rows) > 5
    for row in rows:
        assert row.is_equal != bool(row.why), row
