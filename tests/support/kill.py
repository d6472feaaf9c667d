"""Child processes to be killed: what they run, and how they are started and ended.

The functions named `child_...`, here or elsewhere, run in a fresh interpreter; they report by
printing one line at a time, and the line of a safe generation is printed only after it is.
"""

import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from data.store import write_sealed
from optimizer.errors import StoreError
from optimizer.store import RunStore
from tests.support.recording import HEADER, make_generation

ROOT = Path(__file__).parents[2]
ENDLESS = 10**6
PROGRAM = "import sys; from {0.__module__} import {0.__name__} as f; f(*sys.argv[1:])"


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


def child_keep(folder):
    """Keep content of many lengths under two names, without an end; a line once both are there."""
    for number in range(ENDLESS):
        content = bytes([number % 256]) * (number % 50_000)
        for name in ("one", "two"):
            write_sealed(Path(folder) / name, content)
        if number == 0:
            say("kept")


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
