"""What a device's failures become: an error that says what to do, never a wrong number."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

from engine.errors import DeviceError, DeviceLostError

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def device_errors(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Let a function raise `DeviceError` where torch or Triton report a failure of the device.

    What leaves the device unusable for this process becomes a `DeviceLostError`.

    Args:
        function: One that uses the device.

    Returns:
        The same; other errors pass through it as they are.
    """

    @wraps(function)
    def guarded(*arguments: Arguments.args, **options: Arguments.kwargs) -> Answer:
        try:
            return function(*arguments, **options)
        except torch.OutOfMemoryError:
            message = "the GPU ran out of memory: lower --memory, or use --device cpu"
        except RuntimeError as error:
            if "CUDA" not in str(error):
                raise
            # After such a fault the device answers this process with errors only.
            reason = str(error).splitlines()[0]
            raise DeviceLostError(
                f"the GPU failed ({reason}): start again in a new process, or use --device cpu"
            ) from error
        raise DeviceError(message)

    return guarded
