"""The corpus: every form of the engine gives the results that the law in plain Python gave."""

import pytest

from tests.golden.cases import CASES
from tests.golden.results import (
    backtest_by_engine,
    backtest_by_reference,
    find_difference,
    list_all,
    read_results,
)
from tests.support.references import BACKEND_PARAMETERS


@pytest.mark.parametrize("name", CASES)
def test_the_law_gives_what_was_recorded(name):
    """In plain Python the individual whose trades are listed, compiled every eighth one."""
    listed = read_results()[name].listed
    for form, some in (("reference", [listed]), ("compiled_reference", list_all(name)[::8])):
        actual = backtest_by_reference(name, form, [*some, listed], listed)
        assert not find_difference(name, [*some, listed], actual)


@pytest.mark.parametrize("device_name", BACKEND_PARAMETERS)
@pytest.mark.parametrize("name", CASES)
def test_a_device_gives_what_was_recorded(name, device_name):
    """All individuals, each window and all of them as one account."""
    listed = read_results()[name].listed
    actual = backtest_by_engine(name, list_all(name), listed, device=device_name)
    assert not find_difference(name, list_all(name), actual)
