"""The command line on a device that is lost when a test wants it.

Run as ``python -m tests.support.losing``. The device calls itself cuda and computes on the
processor. ``LOSING`` names a file: each program that begins adds a line with its process and
arguments, and takes the next word of ``LOSING_PLAN``, or the last one when there are no more:
``start``, ``evaluate:3``, ``ledgers:1``, ``hang:3``, or ``none``. At the numbered call it
happens. With ``illegal:3`` or ``endless:3`` it is this machine's own GPU that is broken so.
"""

import atexit
import os
import sys
import threading
import time
from pathlib import Path

import engine.devices
from engine.cpu import CpuBackend
from engine.errors import DeviceLostError
from optimizer.__main__ import main

OF_A_GPU = ("illegal", "endless")
"""Words that need one."""

FASTER = 1000
"""A watchdog's minute is so much shorter here."""


def hang():
    """Do as a device does that never answers; its libraries' exit handlers never return either."""
    from engine.runtime.cuda.watchdog import Watchdog

    atexit.register(threading.Event().wait)
    threading.Thread(target=threading.Event().wait).start()
    Watchdog(clock=lambda: time.monotonic() * FASTER).wait(lambda: False)


def losing(plan):
    """A backend that is lost by a word of a plan."""
    what, _, number = plan.partition(":")
    calls = []

    def count(call):
        calls.append(call)
        if calls.count(call) == int(number or 1):
            if plan.startswith("hang"):
                hang()
            raise DeviceLostError.because("injected")

    class Losing(CpuBackend):
        name = "cuda"

        def __init__(self, *arguments, **options):
            if what == "start":
                count("start")
            super().__init__(*arguments, **options)

        def begin(self, sent, slots):
            if slots is not None and what in ("evaluate", "hang"):
                count("evaluate")
            return super().begin(sent, slots)

        def ledgers(self, *arguments):
            if what == "ledgers":
                count("ledgers")
            return super().ledgers(*arguments)

    return Losing


def plan_of_this_program():
    """The next word of the plan."""
    log, words = Path(os.environ["LOSING"]), os.environ["LOSING_PLAN"].split()
    with log.open("a") as lines:
        lines.write(f"{os.getpid()} {' '.join(sys.argv[1:])}\n")
    begun = len(log.read_text().splitlines())
    return words[min(begun, len(words)) - 1]


def pretend(plan):
    """Have a device that is lost by a plan."""
    backend, load_backend = losing(plan), engine.devices.load_backend
    engine.devices.why_absent = lambda name: ""
    engine.devices.count_gpus = lambda: 1
    engine.devices.load_backend = lambda name, devices: (
        backend if name == "cuda" else load_backend(name, devices)
    )


if __name__ == "__main__":
    if os.environ["LOSING_PLAN"].startswith(OF_A_GPU):
        from tests.support.gpu_faults import breaking

        breaking(plan_of_this_program())
    else:
        pretend(plan_of_this_program())
    sys.exit(main())
