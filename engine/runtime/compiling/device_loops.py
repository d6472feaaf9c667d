"""Loops of CPU cores compiled once more for a GPU: the same source, other primitives below it.

A product and a sum are rounded twice there too: machine code is made without contraction, searched
for it, and taken as the compiler leaves it, because linking would optimize it again. The
code is kept as text, and loaded by the driver.
"""

import builtins
import ctypes
import hashlib
import importlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from time import perf_counter
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import torch

from data.files import replace_whole
from engine.errors import DeviceError
from engine.runtime.compiling.cache_dirs import kernels_folder
from engine.runtime.compiling.compile_timer import add_compiling
from engine.runtime.compiling.launch import only_compiles
from engine.runtime.compiling.module_digest import UnknownSourceError, digest_module

LOG = logging.getLogger(__name__)

FUSED = ("fma.", "mad.f", ".approx", ".ftz")
"""Parts of instructions that round otherwise than the law."""

THREADS = 32
"""Lanes of a program: one warp."""

_COMPILING = Lock()


def retarget(loop: Any, given: Mapping[str, object], make: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - numba has no types
    """A loop compiled by other means, and all that it calls.

    Args:
        loop: Compiled for CPU cores, or a function that calls some.
        given: By name what takes the place of what they call; it is taken as it is.
        make: Compiles a function.
    """
    made: dict[object, Any] = {}

    def turn(function: Any) -> Any:  # noqa: ANN401 - numba has no types
        source = getattr(function, "py_func", function)
        if source not in made:
            known = source.__globals__
            names = {"__builtins__": builtins, "__name__": source.__module__}
            for name in source.__code__.co_names:
                if name in given:
                    names[name] = given[name]
                elif name in known:
                    value = known[name]
                    names[name] = turn(value) if hasattr(value, "py_func") else value
            turned = FunctionType(source.__code__, names, source.__name__, source.__defaults__)
            made[source] = make(turned)
        return made[source]

    return turn(loop)


def compile_device_loop(
    build: Callable[[Callable[[Any], Any]], Any],
    module: str,
    form: object,
    arguments: Sequence[object],
    capability: tuple[int, int],
) -> str:
    """Assembly of a kernel, compiled or found.

    Args:
        build: Makes the kernel's function, given what compiles a function that it calls.
        module: Where it is written; an edit of what that imports compiles it anew.
        form: What it depends on beside types of arguments.
        arguments: As it is launched with.
        capability: Of the device.

    Raises:
        DeviceError: When the compiler rounds otherwise than the law.
    """
    types = tuple(map(find_type, arguments))
    file = _find_place(module, (form, types, capability, version("numba-cuda")))
    if file is not None and file.is_file():
        return file.read_text()
    # The option against contraction is the compiler's own.
    with _COMPILING:
        begun = perf_counter()
        # Releases up to 0.30 ask numpy for a name that it has no more from 2.5 on.
        vars(np).setdefault("row_stack", np.vstack)
        cuda: Any = importlib.import_module("numba.cuda")
        kernel = build(lambda function: cuda.jit(function, device=True))
        with _without_contraction(capability):
            assembly: str = cuda.compile_ptx(kernel, types, cc=capability)[0]
        add_compiling(perf_counter() - begun)
    if any(part in assembly for part in FUSED):
        raise DeviceError("numba-cuda fuses operations on this machine: use --device cpu")
    if file is not None:
        replace_whole(file, assembly.encode())
    return assembly


class LoadedKernel:
    """A kernel on the current device."""

    def __init__(self, assembly: str) -> None:
        name = assembly.partition(".entry ")[2].partition("(")[0].strip()
        module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        _call("cuModuleLoadData", ctypes.byref(module), assembly.encode())
        _call("cuModuleGetFunction", ctypes.byref(self._function), module, name.encode())

    def launch(self, grid: tuple[int, int], arguments: Sequence[object]) -> None:
        """Launch it on torch's stream, a warp a program."""
        if only_compiles():
            return
        values = [value for argument in arguments for value in flatten(argument)]
        places = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        _call("cuLaunchKernel", self._function, *grid, 1, THREADS, 1, 1, 0, stream, places, None)


def find_type(value: object) -> Any:  # noqa: ANN401 - numba has no types
    """The compiler's type of an argument: a number, a contiguous tensor, or a tuple of some."""
    from numba import types

    if isinstance(value, tuple):
        kind: Any = types.NamedTuple
        return kind(tuple(map(find_type, value)), type(value))
    if isinstance(value, torch.Tensor):
        kind = getattr(types, str(value.dtype).removeprefix("torch."))
        return types.Array(kind, value.dim(), "C")
    kinds: dict[type, Any] = {bool: types.boolean, int: types.int64, float: types.float64}
    return kinds[type(value)]


def flatten(value: object) -> Iterator[Any]:
    """Parameters of a kernel for an argument."""
    if isinstance(value, tuple):
        for each in value:
            yield from flatten(each)
    elif isinstance(value, torch.Tensor):
        size = value.element_size()
        # Two of the host's own that no kernel reads, then numbers and bytes of elements.
        for number in (0, 0, value.numel(), size, value.data_ptr(), *value.shape):
            yield ctypes.c_int64(number)
        for stride in value.stride():
            yield ctypes.c_int64(stride * size)
    else:
        kinds: dict[type, Any] = {
            bool: ctypes.c_uint8, int: ctypes.c_int64, float: ctypes.c_double,
        }  # fmt: skip
        yield kinds[type(value)](value)


def _find_place(module: str, depends: tuple[object, ...]) -> Path | None:
    """Folder of assembly; None if its sources are unknown."""
    try:
        said = repr((digest_module(module), depends)).encode()
    except UnknownSourceError as error:
        LOG.warning("a kernel is compiled by each process: %s", error)
        return None
    return kernels_folder() / f"loop-{hashlib.sha256(said).hexdigest()[:24]}.ptx"


@contextmanager
def _without_contraction(capability: tuple[int, int]) -> Iterator[None]:
    """The compiler as it fuses nothing and asks no driver for a device."""
    from numba.cuda import api, dispatcher
    from numba.cuda.cudadrv import nvvm

    there = SimpleNamespace(compute_capability=capability)
    # No option of it does this yet.
    changes: list[tuple[Any, str, object]] = [
        (nvvm, "compile_ir", partial(nvvm.compile_ir, fma=False)),
        (api, "get_current_device", lambda: there),
        (dispatcher, "get_current_device", lambda: there),
    ]
    before = [getattr(module, name) for module, name, _ in changes]
    try:
        for module, name, value in changes:
            setattr(module, name, value)
        yield
    finally:
        for (module, name, _), value in zip(changes, before, strict=True):
            setattr(module, name, value)


@cache
def _driver() -> Any:  # noqa: ANN401 - a library of C
    return ctypes.CDLL("libcuda.so.1")


def _call(name: str, *arguments: object) -> None:
    """Call the driver.

    Raises:
        RuntimeError: When it refuses.
    """
    code = getattr(_driver(), name)(*arguments)
    if code:
        said = ctypes.c_char_p()
        _driver().cuGetErrorString(code, ctypes.byref(said))
        raise RuntimeError(f"CUDA error: {(said.value or b'of no name').decode()} ({name})")
