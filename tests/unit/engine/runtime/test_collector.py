"""The collector of cycles while much is made that stays."""

import gc

import pytest

from engine.runtime.collector import pause_collector


@pytest.mark.parametrize("was_enabled", [True, False])
def test_a_pause_leaves_the_collector_as_it_was(was_enabled):
    """Also where what was made failed."""
    before = gc.isenabled()
    (gc.enable if was_enabled else gc.disable)()
    try:
        with pause_collector():
            assert not gc.isenabled()
        assert gc.isenabled() == was_enabled
        with pytest.raises(KeyError), pause_collector():
            raise KeyError
        assert gc.isenabled() == was_enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_pauses_of_threads_overlap():
    """Whichever ends first, the collector rests until the other has ended too."""
    assert gc.isenabled()
    first, second = pause_collector(), pause_collector()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_a_program_walks_no_more_over_what_it_loaded():
    """What there is after the pause of a program is frozen, and only then."""
    frozen = gc.get_freeze_count()
    with pause_collector():
        pass
    assert gc.get_freeze_count() == frozen
    with pause_collector(is_program=True):
        kept = [[]]
    try:
        assert gc.get_freeze_count() > frozen
        assert not any(each is kept for each in gc.get_objects())
    finally:
        gc.unfreeze()
