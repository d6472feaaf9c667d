"""What examples in docstrings may use: a small recorded run."""

import pytest


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
