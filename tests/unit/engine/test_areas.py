"""Memory that two processes see: whole, bounded, and given back."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import areas
from engine.areas import Area, places_of
from engine.errors import DeviceError
from tests.support.parity import assert_same_bits


@pytest.fixture(params=["memory", "temporary"])
def system(request, monkeypatch):
    """A system that makes files in memory, and one that has only a folder of temporary files."""
    if request.param == "temporary":
        monkeypatch.delattr(os, "memfd_create", raising=False)


def descriptors():
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.usefixtures("system")
def test_what_one_writes_the_other_reads():
    """To the last bit, also after the area has grown."""
    ours = Area()
    theirs = Area(os.dup(ours.descriptor))
    for n in (1, 1000, 100_000):
        expected = np.random.Generator(np.random.PCG64(n)).standard_normal((n, 3))
        (place,), size = places_of([("float64", expected.shape)])
        ours.grow(size)
        theirs.see(ours.bytes)
        ours.array(place)[...] = expected
        assert_same_bits(expected, theirs.array(place), f"{n} lines")
        theirs.array(place)[0] = 7.0
        assert ours.array(place)[0, 0] == 7.0


@pytest.mark.usefixtures("system")
def test_an_area_leaves_nothing_open():
    """Neither the file nor its mappings; closing twice does no harm."""
    before = descriptors()
    for _ in range(50):
        area = Area()
        area.grow(1000)
        area.grow(100_000)
        area.close()
        area.close()
    assert descriptors() == before


def test_a_forgotten_area_is_closed():
    """As soon as nobody refers to it."""
    before = descriptors()
    Area()
    assert descriptors() == before


def test_arrays_outlive_their_area():
    """Who still has one reads what was there."""
    area = Area()
    area.grow(80)
    numbers = area.array(("float64", 0, (10,)))
    numbers[...] = 3.0
    area.close()
    assert numbers.tolist() == [3.0] * 10


@pytest.mark.parametrize(
    "place",
    [
        ("float64", 0, (10_000,)),
        ("float64", 10**12, (1,)),
        ("float64", -8, (1,)),
        ("float64", 0, (-1,)),
        ("float64", 0, (2**40, 2**40)),
        ("object", 0, (1,)),
    ],
)
def test_places_that_are_not_there_are_refused(place):
    """Whatever the other process says, nothing is read beyond the area."""
    area = Area()
    area.grow(800)
    with pytest.raises(ValueError, match=r"no arrays|ends before"):
        area.array(place)


def test_an_area_that_is_said_to_be_longer_is_refused():
    """To use what is behind the end of a file would end the process."""
    area = Area()
    area.grow(800)
    other = Area(os.dup(area.descriptor))
    with pytest.raises(ValueError, match="greater than file size"):
        other.see(10**9)
    with pytest.raises(ValueError, match="ends before"):
        other.array(("float64", 0, (1,)))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.ENOMEM])
def test_no_room_is_an_error_that_says_so(monkeypatch, code):
    """With its size and the system's reason; what was there stays, and the file is no longer."""
    area = Area()
    area.grow(800)
    area.array(("float64", 0, (1,)))[0] = 5.0
    length = os.fstat(area.descriptor).st_size
    write = os.pwrite

    def full(descriptor, data, offset):
        if offset > 2**21:
            raise OSError(code, os.strerror(code))
        return write(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(DeviceError, match=rf"no room for 5,000,000 bytes .*{os.strerror(code)}"):
        area.grow(4_000_000)
    assert os.fstat(area.descriptor).st_size == length
    assert area.array(("float64", 0, (1,)))[0] == 5.0


def test_no_more_files_is_an_error_that_says_so(monkeypatch):
    """The same where not even an empty one can be made."""

    def none_left(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "memfd_create", none_left, raising=False)
    with pytest.raises(DeviceError, match=r"no room for an area .*Too many open files"):
        Area()


def test_room_is_there_before_it_is_used():
    """The file holds every byte, so that a full system says no at once and not by a signal."""
    area = Area()
    area.grow(3_000_000)
    assert os.fstat(area.descriptor).st_blocks * 512 >= 3_000_000
    assert Path(f"/proc/self/fd/{area.descriptor}").stat().st_size == area.bytes


@given(
    st.lists(
        st.tuples(
            st.sampled_from(areas.KINDS), st.lists(st.integers(0, 9), min_size=1, max_size=3)
        ),
        max_size=6,
    )
)
def test_places_do_not_touch(arrays):
    """Each begins at a multiple of 64 behind the end of the one before."""
    places, size = places_of(arrays)
    end = 0
    for (kind, begin, shape), (kind_asked, shape_asked) in zip(places, arrays, strict=True):
        assert (kind, shape) == (kind_asked, shape_asked)
        assert begin >= end
        assert begin % 64 == 0
        end = begin + int(np.prod(shape)) * np.dtype(kind).itemsize
    assert size >= max(end, 1)
