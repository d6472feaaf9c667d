"""Places of examples, and their common run: a small recorded one."""

import os
import sys

import pytest
from _pytest.doctest import DoctestModule

# Tests start hundreds of processes, and rewriting their assertions takes as long as running many.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Leave out modules without examples: looking for some would import torch, ccxt and the like.

    Among the files of tests it would ask every object of every file for its source.
    """
    collectors = yield
    if file_path.suffix != ".py" or ">>> " in file_path.read_text(encoding="utf-8"):
        return collectors
    return [each for each in collectors if not isinstance(each, DoctestModule)]


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
