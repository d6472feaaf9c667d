"""A command of this program as a process with limits of time and memory."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile

import anyio
import psutil

from optimizer.errors import OptimizerError
from optimizer.processes import begin

CHECK_S, LAST_WORDS_S = 0.1, 20.0
"""Seconds between two looks at the process, and for the record of its stop."""

MOST_OUTPUT_BYTES = 50_000_000


@dataclass(frozen=True)
class CallLimits:
    """Limits of a command, which the owner of the machine sets."""

    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Outcome:
    """Outcome of a command."""

    out: str
    pid: int  # of its process
    stopped: str = ""  # reason of its stop; empty if it ended by itself


async def run_bounded(arguments: Sequence[str], limits: CallLimits) -> Outcome:
    """Run a command to its end, or stop it at a limit; a search then records its state."""
    with TemporaryFile() as out, TemporaryFile() as errors:
        process = begin(
            "optimizer.agents", *arguments, stdin=subprocess.PIPE, stdout=out, stderr=errors,
            start_new_session=True,
        )  # fmt: skip
        try:
            stopped = await _watch(process, limits)
        finally:
            _end_group(process)
        out.seek(0)
        text = out.read(MOST_OUTPUT_BYTES).decode("utf-8", "replace")
        errors.seek(0)
        lines = errors.read(MOST_OUTPUT_BYTES).decode("utf-8", "replace").splitlines()
    if process.returncode < 0 and not stopped:
        stopped = f"it was ended by signal {-process.returncode}"
    if stopped:
        return Outcome(text, process.pid, stopped)
    if lines and lines[-1].startswith("error: "):
        raise OptimizerError(lines[-1].removeprefix("error: "))
    if not text:
        raise OptimizerError(f"{arguments[0]} said nothing, exit code {process.returncode}")
    return Outcome(text, process.pid)


async def _watch(process: subprocess.Popen[bytes], limits: CallLimits) -> str:
    """Wait for a process; why it was stopped, or nothing."""
    until = time.monotonic() + limits.seconds
    while process.poll() is None:
        if time.monotonic() > until:
            process.send_signal(signal.SIGINT)
            until = time.monotonic() + LAST_WORDS_S
            while process.poll() is None and time.monotonic() < until:
                await anyio.sleep(CHECK_S)
            return f"it took more than {limits.seconds:g} seconds"
        if _measure_memory(process.pid) > limits.memory_bytes:
            return f"it took more than {limits.memory_bytes:,} bytes of memory"
        await anyio.sleep(CHECK_S)
    return ""


def _measure_memory(pid: int) -> int:
    """Bytes that a process and its children hold."""
    total = 0
    try:
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            total += process.memory_info().rss
    except psutil.Error:
        return total
    return total


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children, which may outlive it."""
    with process, suppress(ProcessLookupError, PermissionError):  # of macOS
        os.killpg(process.pid, signal.SIGKILL)
