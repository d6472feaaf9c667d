"""Which GPUs this machine offers; the heavy library is asked only where a driver answers."""

import ctypes
import functools
import importlib.util
import sys

DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"


@functools.cache
def why_no_cuda() -> str:
    """Say why a CUDA device cannot be used.

    Returns:
        The reason; empty when there is one.
    """
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return "no NVIDIA driver was found"
    for package in ("torch", "triton"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed"
    import torch

    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA"
    if not torch.cuda.is_available():
        return f"torch {torch.__version__} sees no CUDA device"
    return ""


def count_gpus() -> int:
    """How many GPUs there are, where `why_no_cuda` names no reason against them."""
    import torch

    return torch.cuda.device_count()


def describe_gpus() -> str:
    """Say which GPUs there are and whether they are used.

    Returns:
        One line for a person.
    """
    reason = why_no_cuda()
    if reason:
        return f"not used: {reason}"
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return f"{', '.join(names)}, used"
