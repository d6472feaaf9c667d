"""A strategy with an indicator of its own runs where its code is, and nowhere else."""

import pytest

from tests.support.commands import SMALL
from tests.support.own_files import momentum_file

pytestmark = pytest.mark.slow

OWN = momentum_file()

ON_WORKERS = ("--cluster", "local:1")


@pytest.fixture
def own(tmp_path):
    """The file of a strategy with an indicator of a person's own."""
    (tmp_path / "own.py").write_text(OWN)
    return "own.py"


@pytest.mark.timeout(240)
def test_it_is_refused_on_a_cluster_before_the_search(command, market, own, tmp_path):
    """By name, in one line, and nothing is recorded; here it goes its whole way."""
    search = ("evolve", "--data", market, "--strategy", own, "--device", "cpu", *SMALL)
    checked = ("parity", "--data", market, "--strategy", own, "--individuals", "2")
    null = ("--null", "2", "--folds", "0", "--blocks", "0")
    judged = ("judge", "latest", *null)
    expected = "own indicator 'moved': its code is yours, and other hosts do not have it"
    for words in ((*search, "--null", "2"), search, checked):
        refused = command(*words, *ON_WORKERS)
        assert (refused.code, refused.out) == (2, ""), refused.err
        assert expected in refused.error
        assert "leave --cluster out" in refused.error
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())
    assert command(*search).code == 0
    refused = command(*judged, *ON_WORKERS)
    assert refused.code == 2
    assert expected in refused.error
    assert "searches" not in refused.err
    assert command(*judged).code == 0
