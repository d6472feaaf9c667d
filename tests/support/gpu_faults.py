"""Kernels that break a GPU for the process that launches them, and when they do."""

import time

import torch
import triton
import triton.language as tl

from engine.cuda.language import CudaLanguageBackend
from engine.runtime.cuda import watchdog

FASTER = 100
"""A watchdog's minute is so much shorter here."""


@triton.jit
def wild_kernel(p_numbers):
    """Write where nothing is."""
    tl.store(p_numbers + (tl.load(p_numbers) + (1 << 40)), 1)


@triton.jit
def endless_kernel(p_numbers):
    """Wait for a value that is never written."""
    while tl.load(p_numbers, volatile=True) == 0:
        pass


def breaking(plan):
    """Have the backend launch such a kernel, at a call by its number: ``illegal:3``, ``endless:3``.

    Args:
        plan: With ``none`` nothing is launched.
    """
    what, _, number = plan.partition(":")
    kernel = {"illegal": wild_kernel, "endless": endless_kernel}.get(what)
    if kernel is None:
        return
    begin, calls = CudaLanguageBackend.begin, []

    def broken(self, sent):
        calls.append(self)
        if len(calls) == int(number):
            kernel[(1,)](torch.zeros(1, dtype=torch.int64, device="cuda"))
        return begin(self, sent)

    CudaLanguageBackend.begin = broken
    watchdog._WATCHDOG = watchdog.Watchdog(clock=lambda: time.monotonic() * FASTER)
