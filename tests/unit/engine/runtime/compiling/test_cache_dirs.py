"""Folders of compiled code: nobody else can write what this process runs."""

import os

import pytest

from engine.errors import DeviceError
from engine.runtime.compiling import cache_dirs


@pytest.fixture
def fresh(monkeypatch):
    """Folders are chosen anew; nothing that a person set is left."""
    for name in ("NUMBA_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME"):
        monkeypatch.delenv(name, raising=False)
    for choose in (cache_dirs.loops_folder, cache_dirs.kernels_folder):
        choose.cache_clear()
    yield monkeypatch
    for choose in (cache_dirs.loops_folder, cache_dirs.kernels_folder):
        choose.cache_clear()


@pytest.fixture
def closed_package(fresh, tmp_path):
    """A package that cannot be written, and a user's cache and temporary folder of a test."""
    (tmp_path / "file").write_text("no folder can be made below a file")
    fresh.setattr(cache_dirs, "user_cache_path", lambda app: tmp_path / "home" / app)
    fresh.setattr(cache_dirs.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def test_a_folder_that_others_can_write_is_passed_over(closed_package, fresh):
    """They would leave code there that we run; it makes no difference who named it."""
    places = [closed_package / "mine", closed_package / "room" / "__pycache__"]
    for place in places:
        place.mkdir(parents=True)
        place.chmod(0o777)
    for name in ("NUMBA_CACHE_DIR", "TRITON_CACHE_DIR"):
        fresh.setenv(name, str(places[0]))
    kept = closed_package / "home" / cache_dirs.APP / "loops"
    assert cache_dirs.loops_folder(closed_package / "room") == kept
    with pytest.raises(DeviceError, match="others"):
        cache_dirs.kernels_folder()


@pytest.mark.parametrize("how", ["open", "linked"])
def test_a_temporary_folder_that_others_can_write_is_not_trusted(closed_package, how):
    """A name that anybody can take first: loops stay in memory then, kernels are refused."""
    (closed_package / "home").write_text("")
    private = closed_package / "tmp" / f"{cache_dirs.APP}-{os.getuid()}"
    if how == "open":
        private.mkdir()
        private.chmod(0o777)
    else:
        (closed_package / "theirs").mkdir()
        private.symlink_to(closed_package / "theirs")
    assert cache_dirs.loops_folder(closed_package / "file") is None
    with pytest.raises(DeviceError, match="TRITON_CACHE_DIR"):
        cache_dirs.kernels_folder()
