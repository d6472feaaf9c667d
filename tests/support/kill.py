"""Processes to be killed: what they run, and how they are started and ended.

The functions named `child_...`, here or elsewhere, run in a fresh interpreter; they report by
printing one line at a time, and the line of a safe generation is printed only after it is.
"""

import atexit
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from optimizer.errors import StoreError
from optimizer.store import RunStore
from tests.support.paths import ROOT
from tests.support.recording import HEADER, make_generation

ENDLESS = 10**6
PROGRAM = "import sys; from {0.__module__} import {0.__name__} as f; f(*sys.argv[1:])"
MARK = "KILLS_CASE"
"""Variable by which children of a killed command are known."""

STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "sqlite3.connect")
"""Audit events before which a command is killed, where they are about files that it may write."""

DRAWN = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}|[0-9a-f]{16,64}|-\d{10,}")
"""In names: what each run of a command draws or hashes anew."""

CLOCK = re.compile(rb'"(datetime_\w+|worker_id)":"[^"]*"')
"""In a study: what Optuna draws or reads from the clock."""

HOMES = ("CONFIG", "CACHE", "DATA", "STATE")

LAST_S = 120.0
"""Seconds after which a command hangs."""

Command = tuple[str, ...] | Callable[[Callable[[str], str]], int]
"""Words, or a function that is given what fills in the names of runs."""


@contextmanager
def child(function, *arguments):
    """Run a function of a module in a process of its own; kill it when the body is left."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(function), *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def kill_process(process, lines, seconds):
    """Kill a child some seconds after it has printed some lines; returns its last line."""
    for _ in range(lines):
        assert process.stdout.readline(), "the child ended before it was killed"
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    printed = process.stdout.read().split("\n")[:-1]
    process.wait()
    return printed[-1] if printed else ""


def child_record(path, flush_every="1", keep="all", end=str(ENDLESS)):
    """Begin a run or go on with it; print each number that is safe."""
    path = Path(path)
    if path.exists():
        store = RunStore.open(path, writable=True)
    else:
        store = RunStore.create(path.parent, path.name, HEADER, keep=keep)
    with store:
        last = store.last_generation()
        start = 0 if last is None else last.number + 1
        for number in range(start, int(end)):
            store.record(make_generation(number))
            if (number + 1) % int(flush_every) == 0:
                store.flush()
                say(number)
        store.finish({"front": []})
    say("done")


def child_own(path):
    """Own a run until a line comes in."""
    with RunStore.open(Path(path), writable=True):
        say("owned")
        sys.stdin.readline()


def child_fill(runs_dir, *limits):
    """Record into files that may not grow beyond each limit; print the last safe number and why."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    for limit in limits:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), hard))
        safe, reason = _fill(Path(runs_dir), f"limit-{limit}")
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        say(f"{limit}|{safe}|{reason}")


def _fill(runs_dir, run_id):
    safe = -1
    try:
        with RunStore.create(runs_dir, run_id, HEADER) as store:
            for number in range(60):
                store.record(make_generation(number, individuals=100))
                store.flush()
                safe = number
    except StoreError as error:
        return safe, str(error)
    return safe, ""


def say(line):
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Case:
    """A copy of the base, in which commands run and are killed.

    Args:
        base: A folder to copy; None for an empty one.
        root: The copy.
        names: Of runs, by the word that stands for each in commands.
    """

    def __init__(self, base: Path | None, root: Path, names: dict[str, str]) -> None:
        self.root, self.names = root, names
        self.out, self.count = root.with_suffix(".out"), root.with_suffix(".steps")
        shutil.rmtree(root, ignore_errors=True)
        if base is None:
            (root / "tmp").mkdir(parents=True)
        else:
            shutil.copytree(base, root)

    def fill(self, text: str) -> str:
        """A text with the names of runs in place of their words."""
        for word, name in self.names.items():
            text = text.replace(word, name)
        return text

    def begin(self, command: Command, step: int = 0) -> int:
        """Begin a command in a process group of its own, to be killed at a step; its id."""
        self.out.write_text("")
        if pid := os.fork():
            with suppress(OSError):
                os.setpgid(pid, pid)
            return pid
        code = 70
        try:
            os.setpgid(0, 0)
            code = self._become(command, step)
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.stdout.flush()
            os._exit(code)

    def _become(self, command: Command, step: int) -> int:
        # A child that only records needs neither, and both take longer than its work.
        from optimizer.__main__ import main as run_command
        from tests.support.vendor import KEY

        os.chdir(self.root)
        output = os.open(self.out, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.environ.update({f"XDG_{name}_HOME": f"{self.root}/home/{name}" for name in HOMES})
        os.environ.update(TMPDIR=f"{self.root}/tmp", POLYGON_API_KEY=KEY, **{MARK: str(self.root)})
        tempfile.tempdir = None
        # A shell has commands in the background ignore it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        steps = Steps(self.root, step)
        sys.addaudithook(steps)
        try:
            if callable(command):
                return command(self.fill)
            return run_command([self.fill(part) for part in command])
        finally:
            atexit._run_exitfuncs()
            self.count.write_text(str(steps.done))

    def run(self, command: Command, *, ends: bool = True) -> int:
        """Run a command to its end, or until it says where its page is; its exit code."""
        pid = self.begin(command)
        if not ends:
            wait_until(lambda: "http" in self.out.read_text(), LAST_S)
            os.kill(pid, signal.SIGINT)
        return self.wait(pid)

    def wait(self, pid: int) -> int:
        """The exit code of a process; it is killed when it hangs."""
        ends: list[int] = []

        def has_ended() -> bool:
            ended, status = os.waitpid(pid, os.WNOHANG)
            ends.extend([os.waitstatus_to_exitcode(status)] * bool(ended))
            return bool(ended)

        if not wait_until(has_ended, LAST_S):
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return ends[0] if ends else -1

    def kill(self, command: Command, step: int, seconds: float, *, is_alone: bool) -> bool:
        """Begin a command and kill it at a step, or after some time; whether it had ended."""
        pid = self.begin(command, step)
        if not step:
            time.sleep(seconds)
            (os.kill if is_alone else os.killpg)(pid, signal.SIGKILL)
        return self.wait(pid) != -signal.SIGKILL

    def kill_child(self, command: Command, seconds: float, rng: random.Random) -> int | None:
        """Begin a command and kill one of its processes; its exit code, None where it had none."""
        pid = self.begin(command)
        time.sleep(seconds)
        children = self.list_children()
        if children:
            os.kill(rng.choice(children), signal.SIGKILL)
        code = self.wait(pid)
        return code if children else None

    def list_children(self) -> list[int]:
        """Processes alive that a command of this case began."""
        mark, found = f"{MARK}={self.root}\0".encode(), []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes():
                    found.append(int(process.name))
        return found

    def list_files(self) -> Counter[str]:
        """Names of all files and folders, without what is drawn anew each time."""
        paths = (str(path.relative_to(self.root)) for path in self.root.rglob("*"))
        return Counter(DRAWN.sub("#", path) for path in paths)

    def read(self, targets: tuple[str, ...]) -> list[bytes]:
        """Content of named outputs; empty where there is none."""
        paths = [self.root / self.fill(target) for target in targets]
        return [CLOCK.sub(b"", path.read_bytes()) if path.is_file() else b"" for path in paths]

    def list_runs(self) -> list[Path]:
        """Folders of runs."""
        return sorted(path for path in (self.root / "runs").glob("[!.]*") if path.is_dir())

    def find_losses(self) -> Iterator[str]:
        """Find what is wrong with records of runs."""
        for path in self.list_runs():
            with RunStore.open(path) as store:
                yield from (*store.verify(), *store.warnings)


class Steps:
    """Audit hook that counts steps of writing below a folder, and kills its group before the last.

    Args:
        root: The folder.
        last: Step before which all is killed; 0 for none.
    """

    def __init__(self, root: Path, last: int) -> None:
        self.root, self.last, self.done = f"{root}/", last, 0

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Look at an event of Python's."""
        if event not in STEPS or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        flags = arguments[2] if event == "open" else os.O_CREAT
        is_write = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if is_write and os.path.abspath(os.fsdecode(arguments[0])).startswith(self.root):
            self.done += 1
            if self.done == self.last:
                os.killpg(0, signal.SIGKILL)


def wait_until(is_so: Callable[[], object], seconds: float) -> bool:
    """Wait, at most so long, until something is so; whether it is."""
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True
