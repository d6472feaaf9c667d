"""A module of ours as a process of its own: both ends of the pipes, and how it ends.

It finds the same modules as we do. Ctrl-C in a terminal does not reach it, because it is ours to
answer; it ends with us, however we end, because its pipe is closed then.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import IO

from engine.wire import ClosedError, Frame, receive, send


class Process:
    """A process that answers frames.

    Args:
        command: Program and arguments, as `module_command` makes them.
        shared: Descriptors that it has too, under the same numbers.
    """

    def __init__(self, command: Sequence[str], shared: Sequence[int] = ()) -> None:
        path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env={**os.environ, "PYTHONPATH": path},
            process_group=0,
            pass_fds=tuple(shared),
        )

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def send(self, frame: Frame) -> None:
        """Write a frame to it.

        Raises:
            ClosedError: When it is gone.
        """
        send(_open(self._process.stdin), frame)

    def receive(self, deadline_s: float | None = None) -> Frame:
        """Wait for a frame from it.

        Raises:
            ClosedError: When it is gone, silent for longer, or writes what is no frame.
        """
        return receive(_open(self._process.stdout), deadline_s)

    def ending(self) -> str:
        """How it ended, for a person; empty when it has not."""
        try:
            return f", exit code {self._process.wait(timeout=1.0)}"
        except subprocess.TimeoutExpired:
            return ""

    def end(self) -> None:
        """End it, whatever it is doing; more than once does no harm."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.wait()

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):
            self.end()


def module_command(module: str, *arguments: str) -> tuple[str, ...]:
    """How to run a module of ours; -P because what it imports is ours to say, not the folder's."""
    return (sys.executable, "-P", "-m", module, *arguments)


def _open(stream: IO[bytes] | None) -> int:
    if stream is None or stream.closed:
        raise ClosedError("it was ended")
    return stream.fileno()


def standard_pipes() -> tuple[int, int]:
    """The parent's pipes, moved away from where libraries print; for the process itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, target = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return source, target
