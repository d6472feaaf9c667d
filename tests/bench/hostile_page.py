"""The live page under attack: is it there within two seconds, and what does it take.

    python -m tests.bench.hostile_page [--limits 64 256 1024] [--sockets 2000] [--seconds 10]
        [--kinds silent ...]

Many sockets of a kind, each of which is opened again as soon as it is ended, beside a live run
that is watched, under each limit of handles.
"""

import argparse
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import psutil

from tests.support.hostile_clients import KINDS, attack
from tests.support.kill import child
from tests.support.runs import record_run
from tests.support.viewing import Asker, GrowingRun


class Page:
    """The command `ui` as a process under a limit of handles, with a live run in its folder.

    Args:
        folder: Of runs; has one.
        handles: That the process may have.
    """

    def __init__(self, folder, handles):
        self._folder, self.handles = folder, handles

    def __enter__(self):
        with ExitStack() as stack:
            self.messages = stack.enter_context(tempfile.TemporaryFile())
            limits = self.handles, self.handles
            self.process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "optimizer", "ui", "--runs", self._folder],
                    stdout=subprocess.PIPE, stderr=self.messages, text=True,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
                )
            )  # fmt: skip
            stack.callback(self.process.kill)
            address = self.process.stdout.readline().strip()
            self.asker = Asker(SimpleNamespace(address=address))
            self.watched = psutil.Process(self.process.pid)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def attacked(self, kinds, count):
        """Context of an attack."""
        asker = self.asker
        return child(attack, asker.host, asker.cookie, asker.token, kinds, count)

    def seconds(self):
        """Processor time."""
        return sum(self.watched.cpu_times()[:2])

    def ask_s(self, path="/"):
        """Seconds until a page is there."""
        began = time.monotonic()
        assert self.asker.ask(path, timeout=20).code == 200
        return time.monotonic() - began

    def count_said(self):
        """Bytes of messages; none is a traceback."""
        self.messages.seek(0)
        said = self.messages.read()
        assert b"Traceback" not in said
        return len(said)

    def end(self):
        """Seconds that SIGTERM takes."""
        began = time.monotonic()
        self.process.terminate()
        self.process.wait(30)
        return time.monotonic() - began


@contextmanager
def following(page, path):
    """Times at which states of a stream came."""
    connection = HTTPConnection(page.asker.host, timeout=60)
    connection.request("GET", path, headers={"Cookie": page.asker.cookie})
    answer, came = connection.getresponse(), []

    def read():
        with suppress(OSError, ValueError, AttributeError):
            for line in answer:
                if line.startswith(b"data: "):
                    came.append(time.monotonic())

    threading.Thread(target=read, daemon=True).start()
    try:
        yield came
    finally:
        connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()


class Measured(NamedTuple):
    """What an attack comes to."""

    slowest_s: float  # until a page was there
    states: int  # of a live run, that came meanwhile
    used: float  # processor seconds a minute
    handles: int  # more than before


def measure(page, growing, kinds, sockets, seconds):
    """What an attack of a kind comes to, and that a client that keeps its connection is served."""
    page.ask_s()
    handles = page.watched.num_fds()
    events = f"/run/{growing.path.name}/events"
    with page.attacked(kinds, sockets) as clients:
        assert clients.stdout.readline()
        spent, began, slowest = page.seconds(), time.monotonic(), []
        with following(page, events) as came:
            while time.monotonic() < began + seconds:
                growing.grow(len(growing.store.generations()))
                slowest.append(page.ask_s())
                time.sleep(0.5)
        took = time.monotonic() - began
        used = (page.seconds() - spent) * 60 / took
    end = time.monotonic() + 20
    while (left := page.watched.num_fds()) > handles and time.monotonic() < end:
        time.sleep(0.2)
    keeping = HTTPConnection(page.asker.host, timeout=20)
    for _ in range(3):
        keeping.request("GET", "/", headers={"Cookie": page.asker.cookie})
        answer = keeping.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
    keeping.close()
    return Measured(max(slowest), len(came), used, left - handles)


def main():
    """Print a line an attack."""
    parser = argparse.ArgumentParser(prog="hostile_page")
    parser.add_argument("--limits", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--sockets", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, "mixed"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        source = record_run(runs, generations=400)
        for handles in asked.limits:
            with Page(runs, handles) as page:
                attack_all(page, source, asked)


def attack_all(page, source, asked):
    """Print what each kind of attack comes to, then what all came to."""
    began = time.monotonic()
    with closing(GrowingRun(source, source.parent, "growing")) as growing:
        for kind in asked.kinds:
            found = measure(page, growing, kind, asked.sockets, asked.seconds)
            print(
                f"{page.handles:5} {kind:14} slowest page {found.slowest_s:5.2f} s, "
                f"states {found.states:3}, processor {found.used:5.2f} s/min, "
                f"handles {found.handles:+}",
                flush=True,
            )
    page.ask_s(f"/run/{source.name}/report")
    minutes = (time.monotonic() - began) / 60
    with page.attacked("mixed", asked.sockets) as clients:
        clients.stdout.readline()
        ended_s = page.end()
    said = page.count_said()
    print(f"{page.handles:5} said {said} B in {minutes:.1f} min, ended in {ended_s:.2f} s")
    shutil.rmtree(growing.path)


if __name__ == "__main__":
    main()
