"""Which device a name means, and what is said of one that is not there."""

import pytest

import engine.devices
from engine.devices import choose_backend
from engine.errors import DeviceError


@pytest.fixture
def four_gpus(monkeypatch):
    """A machine with four GPUs, as far as names are concerned."""
    monkeypatch.setattr(engine.devices, "why_absent", lambda name: "")
    monkeypatch.setattr(engine.devices, "count_gpus", lambda: 4)


@pytest.mark.parametrize(
    ("name", "label", "devices"),
    [
        ("auto", "cuda:0,1,2,3", (0, 1, 2, 3)),
        ("cuda", "cuda:0,1,2,3", (0, 1, 2, 3)),
        ("cuda:2", "cuda:2", (2,)),
        ("cuda:3,1", "cuda:3,1", (3, 1)),
        ("cuda:1,1", "cuda:1", (1,)),
        ("cpu", "cpu", ()),
    ],
)
def test_names_of_devices(four_gpus, name, label, devices):
    """All GPUs, some by number, each once, or the processor."""
    choice = choose_backend(name)
    assert (choice.label, choice.devices) == (label, devices)


@pytest.mark.parametrize("name", ["cuda:", "cuda:a", "cuda:-1", "cuda:0,", "cpu:0", "gpu", ""])
def test_unknown_names_are_refused(four_gpus, name):
    """What is no device is named, with what would be one."""
    with pytest.raises(DeviceError, match=f"device '{name}' is unknown; known: auto, cuda:0"):
        choose_backend(name)


def test_a_gpu_that_is_not_there_is_refused(four_gpus):
    """A number that this machine lacks is never replaced by another."""
    with pytest.raises(DeviceError, match="'cuda:1,4' is not available: this machine shows 4 GPUs"):
        choose_backend("cuda:1,4")


def test_auto_says_why_it_takes_the_processor(monkeypatch):
    """Without a GPU auto takes the CPU and names the reason; cuda is refused with it."""
    monkeypatch.setattr(engine.devices, "why_absent", lambda name: "no driver")
    assert choose_backend("auto") == ("cpu", "auto: no GPU is used, no driver", ())
    with pytest.raises(DeviceError, match="'cuda:0' is not available: no driver; use cpu or auto"):
        choose_backend("cuda:0")
