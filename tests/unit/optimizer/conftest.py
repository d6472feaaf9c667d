"""Where these tests write: most record runs."""

import pytest

from tests.support.recording import quick_directory


@pytest.fixture
def tmp_path():
    """A directory of the test's own that is not slowed down by a disk."""
    with quick_directory() as directory:
        yield directory
