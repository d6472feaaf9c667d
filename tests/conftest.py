"""Profiles, fixtures and options that all tests share."""

import atexit
import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.support")

from engine.replay import parity  # noqa: E402
from tests.support.agreement import AGREE  # noqa: E402
from tests.support.recordings import Recordings  # noqa: E402
from tests.support.references import BACKEND_PARAMETERS  # noqa: E402

REAL = Path(__file__).parents[2] / "shared" / "data" / "real"

settings.register_profile(
    "dev",
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "ci",
    max_examples=60,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_addoption(parser):
    """Add ``--bless``, the only writer of golden files, ``--kills`` and ``--mutations``."""
    parser.addoption("--bless", action="store_true", help="write golden files anew")
    parser.addoption("--kills", type=int, default=3, help="kills a test; 50 before a release")
    parser.addoption("--mutations", type=int, default=12, help="runs changed; 10000 for a release")


def pytest_configure():
    """Hear Ctrl-C also where a script began the tests in the background, which ignores it.

    What runs of tests are trusted is written to a folder of their own.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        # Processes of one session trust each other's runs.
        os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, os.environ["XDG_DATA_HOME"], ignore_errors=True)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Begin with what takes long, so that no process is left alone with it at the end.

    Of two processes the second begins in the middle: with tests of data, which need no loops, while
    the first compiles them.
    """
    late = [f"tests/unit/{name}/" for name in ("strategy", "data", "optimizer")]

    def order(item):
        is_quick = item.get_closest_marker("slow") is None
        return is_quick, [item.nodeid.startswith(place) for place in late][::-1]

    items.sort(key=order)


def pytest_collection_finish():
    """Let no search for garbage walk through what was imported and collected, which stays."""
    gc.collect()
    gc.freeze()
    # Libraries look when Python ends for what was never let go of.
    atexit.register(gc.unfreeze)
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session", autouse=True)
def short_samples():
    """Certificates of tests replay few bars in plain Python; `test_certificate.py` all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parity, "BARS", 2000)
        yield


@pytest.fixture(scope="session")
def recordings(tmp_path_factory):
    """Recorded runs, made once a session whatever the number of processes."""
    base = tmp_path_factory.getbasetemp()
    return Recordings((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "recorded")


@pytest.fixture
def begun_here(monkeypatch):
    """Runs that a test records by hand count as begun by this user."""
    from optimizer.run import trust

    monkeypatch.setattr(trust, "_is_known", lambda line: True)


@pytest.fixture
def kills(request):
    """How often a test kills what it watches."""
    return request.config.getoption("kills")


@pytest.fixture
def mutations(request):
    """How many recorded runs a test changes."""
    return request.config.getoption("mutations")


@pytest.fixture(params=BACKEND_PARAMETERS)
def device(request):
    """Every backend that exists; a stage's tests run on all of them."""
    return request.param


@pytest.fixture(scope="session")
def real_folder():
    """The folder of real series; tests that need it are skipped where it is absent."""
    if not REAL.is_dir():
        pytest.skip("the real series are not part of the project and are not here")
    return REAL


@pytest.fixture(scope="session")
def agree_folder():
    """The folder of what other programs published; tests that need it are skipped without it."""
    if not AGREE.is_dir():
        pytest.skip("trade lists of other programs are not part of the project and are not here")
    return AGREE


@pytest.fixture(scope="session")
def script_folder(agree_folder):
    """The folder of the lists and their bars."""
    folder = agree_folder / "pineforge"
    if not folder.is_dir():
        pytest.skip("lists of trades of scripts are not part of the project and are not here")
    return folder
