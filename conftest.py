"""Where examples are looked for, and what they may use: a small recorded run."""

import os
import sys

import pytest

# Tests start hundreds of processes, and rewriting their assertions takes as long as running many.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_ignore_collect(collection_path):
    """Leave out modules without examples: looking for some would import torch, ccxt and the like.

    Files of tests are looked at as always.
    """
    path = collection_path
    if path.suffix != ".py" or path.name.startswith("test_"):
        return None
    return True if ">>> " not in path.read_text(encoding="utf-8") else None


@pytest.fixture(autouse=True)
def _example(request):
    """Give examples `example`, the path of a run on the sample."""
    if isinstance(request.node, pytest.DoctestItem) and request.node.path.parent.name == "report":
        namespace = request.getfixturevalue("doctest_namespace")
        namespace["example"] = request.getfixturevalue("example_run")


@pytest.fixture(scope="session")
def example_run(tmp_path_factory):
    """The path of a small run on the sample, the same for all tests; none may change it."""
    # Only now: importing it earlier would keep its assertions from being explained.
    from tests.support.runs import record_run

    return str(record_run(tmp_path_factory.mktemp("runs")))
