"""The collector of cycles while much is made that stays."""

import gc

import pytest

from engine.runtime.collector import pause_collector


def test_the_collector_works_again_after_the_last_pause():
    """Pauses of threads overlap, and what is made in one may fail."""
    assert gc.isenabled()
    first, second = pause_collector(), pause_collector()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()
    with pytest.raises(KeyError), pause_collector():
        raise KeyError
    assert gc.isenabled()
    gc.disable()
    try:
        with pause_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
