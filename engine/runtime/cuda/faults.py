"""Failures of a device as errors with a remedy, never as wrong numbers."""

import gc
from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec, TypeVar

import torch

from engine.errors import DeviceError, DeviceLostError
from engine.runtime.cuda.capture import give_back_memory
from engine.runtime.shortage import relieve_shortage

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")

REFUSALS = (
    "invalid argument",
    "invalid configuration argument",
    "invalid device function",
    "no kernel image is available",
    "unsupported toolchain",
    "operation not supported",
)
"""Messages of the driver about requests that it would refuse in any process."""

_LOST: list[str] = []


def device_errors(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Let a function raise `DeviceError` where torch or Triton report a failure of the device.

    What leaves the device unusable for this process becomes a `DeviceLostError`; no function that
    is guarded so touches the device after that. Other errors pass as they are. Where memory is
    full, memory of others and of cycles is given back first, and the function is called
    again.
    """

    @wraps(function)
    def call_function(*arguments: Arguments.args, **options: Arguments.kwargs) -> Answer:
        is_collected = False
        while True:
            if _LOST:
                raise DeviceLostError(_LOST[0])
            try:
                return function(*arguments, **options)
            except DeviceLostError as error:
                _LOST.append(str(error))
                raise
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    _raise_failure(error)
            # Only here is nothing of the failed call held, so its memory can be given back.
            if not relieve_shortage() and is_collected:
                raise DeviceError("the GPU ran out of memory: lower --memory, or use --device cpu")
            is_collected = True
            gc.collect()
            give_back_memory()

    return call_function


def is_out_of_memory(error: RuntimeError) -> bool:
    """True if an error of torch, Triton or the driver means that a device's memory is full."""
    text = str(error)
    return isinstance(error, torch.OutOfMemoryError) or ("CUDA" in text and "out of memory" in text)


def _raise_failure(error: RuntimeError) -> NoReturn:
    """Raise an error as it is where no device failed, else with a message for a person."""
    if "CUDA" not in str(error):
        raise error
    reason = str(error).splitlines()[0]
    if any(refusal in reason for refusal in REFUSALS):
        raise DeviceError(f"the GPU refused an operation ({reason}): use --device cpu") from error
    lost = DeviceLostError.because(reason)
    _LOST.append(str(lost))
    raise lost from error
