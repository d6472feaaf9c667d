"""GPUs of this machine, asked of the driver; the heavy library is not imported for it."""

import contextlib
import ctypes
import functools
import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path

DRIVER = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

LONGEST_NAME = 256

HAND_OVER_S = 0.0005
"""Between threads while a device starts."""


@functools.cache
def why_no_cuda() -> str:
    """Why a CUDA device cannot be used; empty when there is one."""
    driver = _driver()
    if driver is None:
        return "no NVIDIA driver was found"
    code = driver.cuInit(0)
    if code:
        return f"the NVIDIA driver does not start (error {code})"
    if not count_gpus():
        return "the NVIDIA driver shows no device"
    for package in ("torch", "triton"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed"
    if not _is_torch_built_for_cuda():
        return "torch is built without CUDA"
    return ""


def why_no_orders() -> str:
    """Why walks of orders cannot be compiled for a GPU here; empty where they can."""
    if importlib.util.find_spec("numba_cuda") is None:
        return "numba-cuda is not installed (extra 'gpu')"
    return ""


def count_gpus() -> int:
    """How many GPUs the driver shows to this process."""
    driver, count = _driver(), ctypes.c_int(0)
    if driver is None or driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


def start_gpus(numbers: Sequence[int]) -> None:
    """Do the work that the first use of GPUs would wait for, while something else goes on.

    The driver makes the context that torch will use, and Triton, if imported, takes the
    digest of itself that names its compiled code. Nothing is imported here: of two threads that
    import at the same time one can find modules half done. An error here is raised where a GPU
    is needed.
    """
    driver = _driver()
    if driver is None or driver.cuInit(0):
        return
    for number in numbers:
        handle, context = ctypes.c_int(0), ctypes.c_void_p()
        if not driver.cuDeviceGet(ctypes.byref(handle), number):
            driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle)
    # Its file is long; a thread that hands over more often gets through beside imports.
    before = sys.getswitchinterval()
    sys.setswitchinterval(HAND_OVER_S)
    with contextlib.suppress(KeyError, AttributeError):
        sys.modules["triton.runtime.cache"].triton_key()
    sys.setswitchinterval(before)


def describe_gpus() -> str:
    """GPUs there are and whether they are used, in a line for a person."""
    reason = why_no_cuda()
    if reason:
        return f"not used: {reason}"
    return f"{', '.join(_name(number) for number in range(count_gpus()))}, used"


@functools.cache
def _driver() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(DRIVER)
    except OSError:
        return None


def _name(number: int) -> str:
    driver, name = _driver(), ctypes.create_string_buffer(LONGEST_NAME)
    if driver is None or driver.cuDeviceGetName(name, LONGEST_NAME, number):
        return f"GPU {number}"
    return name.value.decode(errors="replace")


def _is_torch_built_for_cuda() -> bool:
    """Version of torch, read from its files; importing it takes seconds."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    source = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
    return re.search(r"^cuda\b[^=]*= *['\"]", source, re.MULTILINE) is not None
