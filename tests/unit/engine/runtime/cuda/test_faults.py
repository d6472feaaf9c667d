"""What the device's failures become."""

import re

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.errors import DeviceError, DeviceLostError  # noqa: E402
from engine.runtime.cuda import faults  # noqa: E402
from engine.runtime.cuda.faults import device_errors  # noqa: E402
from engine.runtime.shortage import offer_memory, withdraw_memory  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_lost(monkeypatch):
    """A process that has lost no device yet."""
    monkeypatch.setattr(faults, "_LOST", [])


def failing(error):
    """A guarded function that fails, unless there is nothing to fail with."""

    @device_errors
    def work():
        if error is not None:
            raise error

    return work


FAILURES = [
    (torch.OutOfMemoryError("tried to allocate"), DeviceError, "--memory"),
    (RuntimeError("CUDA error: out of memory\nmore"), DeviceError, "--memory"),
    (RuntimeError("CUDA error: no kernel image is available"), DeviceError, "--device cpu"),
    (RuntimeError("Triton Error [CUDA]: invalid argument"), DeviceError, "--device cpu"),
    (RuntimeError("shapes differ"), RuntimeError, "shapes differ"),
    (ValueError("CUDA"), ValueError, "CUDA"),
    *(
        (RuntimeError(f"{text}\nmore"), DeviceLostError, re.escape(text))
        for text in (
            "CUDA error: an illegal memory access was encountered",
            "CUDA error: all CUDA-capable devices are busy or unavailable",
            "Triton Error [CUDA]: an illegal memory access was encountered",
        )
    ),
]
"""Errors of torch, Triton and the driver, and what they become; the last ones are sticky."""


@pytest.mark.parametrize(("error", "kind", "word"), FAILURES, ids=lambda value: str(value)[:40])
def test_a_failure_of_a_device_becomes_an_error_with_a_remedy(error, kind, word):
    """After a sticky one nothing is asked of the device again; others leave it as it was."""
    with pytest.raises(kind, match=word) as caught:
        failing(error)()
    assert type(caught.value) is kind
    if kind is DeviceLostError:
        assert "more" not in str(caught.value)
        with pytest.raises(DeviceLostError, match=word):
            failing(None)()
    else:
        assert failing(None)() is None


def test_what_others_hold_is_given_back_before_a_device_is_full():
    """The function is called again then, once for each offer that still stands."""
    held, kept = [True], [True]
    give_back, withdrawn = held.clear, kept.clear
    offer_memory(give_back)
    offer_memory(withdrawn)
    withdraw_memory(withdrawn)

    @device_errors
    def work():
        if held:
            raise torch.OutOfMemoryError("tried to allocate")
        return "done"

    assert (work(), kept) == ("done", [True])
    held.append(True)
    with pytest.raises(DeviceError, match="--memory"):
        work()
