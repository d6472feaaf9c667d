"""A run whose GPU was lost goes on in the same process under a new program, and keeps its lock.

After some errors, and when it hangs, a GPU answers a process no more; a new program of that
process can use it again. What was tried before is handed on in an environment variable.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from engine.errors import DeviceLostError
from optimizer.cli.streams import give_back_stdout
from optimizer.config.run_config import RunConfig
from optimizer.processes import safe_variables
from optimizer.store import RunStore
from optimizer.store.lock import NO_GENERATION

TRIED = "OPTIMIZER_GPU_FAILURES"
"""Environment variable: failures in a row and the newest generation at the last, as ``2:14``."""

MOST_RESTARTS = 3
"""In a row, without a generation recorded in between."""


@dataclass(frozen=True)
class Restart:
    """Command line by which this process can begin its run anew."""

    command: Sequence[str]
    kept: Sequence[str]  # those of a new run that its record does not hold, such as ``--json``
    is_resumed: bool
    failures: int = 0  # failures in a row before this program
    # The newest generation on disk at the last of them, -1 without one.
    generation: int = NO_GENERATION

    @classmethod
    def of_command(
        cls, command: Sequence[str], kept: Sequence[str], *, is_resumed: bool
    ) -> "Restart":
        """Of a command line, with what the program before this one handed on."""
        failures, _, generation = os.environ.pop(TRIED, "").partition(":")
        if not generation:
            return cls(command, kept, is_resumed)
        return cls(command, kept, is_resumed, int(failures), int(generation))

    def __call__(
        self,
        config: RunConfig,
        store: RunStore | None,
        why: DeviceLostError,
        say: Callable[[str], None],
    ) -> None:
        """Replace this process's program; returns only when that has been tried often enough.

        `config` decides what follows `MOST_RESTARTS`; the command begins anew where there
        is no store.
        """
        environment: Mapping[str, str] = {}
        newest = NO_GENERATION
        if store is not None:
            environment, newest = store.prepare_exec()
        failures = 1 + (self.failures if newest <= self.generation else 0)
        is_last = failures > MOST_RESTARTS
        if is_last and (config.on_gpu_loss != "cpu" or config.device == "cpu"):
            return
        begins = "from the start" if newest == NO_GENERATION else f"after generation {newest}"
        how = "with the CPU" if is_last else f"restart {failures} of {MOST_RESTARTS}"
        say(f"note: {why}; going on {begins}, {how}")
        arguments = self.arguments(None if store is None else str(store.path))
        if is_last:
            arguments += ["--device", "cpu"]
        else:
            environment = {**environment, TRIED: f"{failures}:{newest}"}
        try:
            _replace_program(arguments, environment)
        except OSError as error:
            say(f"note: {sys.executable} cannot be started again ({error.strerror})")

    def arguments(self, path: str | None) -> list[str]:
        """Of the command line that goes on with a run, or begins anew where there is none yet.

        >>> Restart(["evolve", "--seed", "2", "--json"], ["--json"], False).arguments("runs/a")
        ['evolve', '--resume', 'runs/a', '--json']
        >>> Restart(["evolve", "--resume", "latest", "--threads", "2"], [], True).arguments("r/a")
        ['evolve', '--resume', 'latest', '--threads', '2', '--resume', 'r/a']
        """
        if path is None:
            return list(self.command)
        if not self.is_resumed:
            return ["evolve", "--resume", path, *self.kept]
        # The last one counts; latest may have become another run.
        again = ["--resume", path]
        return [*self.command, *(again if list(self.command[-2:]) != again else [])]


def _replace_program(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Begin the program of this process anew, with other arguments."""
    head = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    give_back_stdout()
    sys.stderr.flush()
    environment = {**os.environ, **environment, **safe_variables()}
    os.execve(sys.executable, [sys.executable, *head, *arguments], environment)
