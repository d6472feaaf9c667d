"""Limits, settings and names around a command: one line names them, and nothing is a defect."""

import resource

import pytest

from tests.support.commands import SMALL, run


def limit_memory():
    """Give a process too little address space for compiled loops."""
    resource.setrlimit(resource.RLIMIT_AS, (1_200_000_000, 1_200_000_000))


def limit_files():
    """Give a process fewer files than a run needs, beside those that Python has open."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("surroundings", "name"),
    [
        ({"env": {"NUMBA_DISABLE_JIT": "1"}}, "NUMBA_DISABLE_JIT"),
        ({"env": {"NUMBA_NUM_THREADS": "abc"}}, "NUMBA_NUM_THREADS"),
        ({"preexec_fn": limit_memory}, "ulimit -v"),
        ({"preexec_fn": limit_files}, "ulimit -n"),
    ],
    ids=["setting", "threads", "memory", "files"],
)
def test_a_setting_or_limit_that_forbids_a_search_is_named(tmp_path, market, surroundings, name):
    """Before a run begins, and nothing hangs; files may end later, when a library opens one."""
    refused = run("evolve", "--data", market, *SMALL, cwd=tmp_path, **surroundings)
    assert (refused.code in (2, 4), refused.out) == (True, ""), refused.err
    assert name in refused.err.splitlines()[-1]
    assert "defect" not in refused.err
    assert name == "ulimit -n" or not list(tmp_path.glob("runs/*"))
