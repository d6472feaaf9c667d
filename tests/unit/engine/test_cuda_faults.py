"""What the device's failures become."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.cuda.faults import device_errors  # noqa: E402
from engine.errors import DeviceError, DeviceLostError  # noqa: E402


def failing(error):
    """A guarded function that fails."""

    @device_errors
    def work():
        raise error

    return work


def test_out_of_memory_says_what_to_lower():
    """A device that is full is no defect of ours."""
    with pytest.raises(DeviceError, match="ran out of memory: lower --memory"):
        failing(torch.OutOfMemoryError("tried to allocate"))()


@pytest.mark.parametrize(
    "text",
    ["CUDA error: an illegal memory access was encountered\nmore", "Triton Error [CUDA]: launch"],
)
def test_sticky_fault_asks_for_a_new_process(text):
    """After an illegal address the device answers this process no more."""
    with pytest.raises(
        DeviceLostError, match=r"the GPU failed \(.*\): start again in a new process"
    ):
        failing(RuntimeError(text))()


@pytest.mark.parametrize("error", [RuntimeError("shapes differ"), ValueError("CUDA")])
def test_other_errors_pass_as_they_are(error):
    """A defect of ours is not blamed on the device."""
    with pytest.raises(type(error), match=str(error)):
        failing(error)()
