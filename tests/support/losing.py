"""The command line on a device that is lost when a test wants it.

Run as ``python -m tests.support.losing PLAN ARGUMENTS``. The device calls itself cuda and computes
on the processor. A plan is ``start``, or names a call and its number: ``evaluate:3``,
``ledgers:1``, ``hang:3``, or ``stop:3``, where a person presses Ctrl-C meanwhile. With
``illegal:3`` or ``endless:3`` it is this machine's own GPU that is broken so.
"""

import atexit
import signal
import sys
import threading
import time

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
    """A backend that is lost by a plan."""
    what, _, number = plan.partition(":")
    calls = []

    def count(*words):
        if what in words:
            calls.append(what)
            if len(calls) == int(number or 1):
                if what == "hang":
                    hang()
                if what == "stop":
                    signal.raise_signal(signal.SIGINT)
                raise DeviceLostError.because("injected")

    class Losing(CpuBackend):
        name = "cuda"

        def __init__(self, *arguments, **options):
            count("start")
            super().__init__(*arguments, **options)

        def begin(self, sent):
            count("evaluate", "hang", "stop")
            return super().begin(sent)

        def ledgers(self, *arguments):
            count("ledgers")
            return super().ledgers(*arguments)

    return Losing


def pretend(plan, replace=setattr):
    """Have a device that is lost by a plan; `replace` sets an attribute."""
    backend, load_backend = losing(plan), engine.devices.load_backend
    replace(engine.devices, "why_absent", lambda name: "")
    replace(engine.devices, "count_gpus", lambda: 1)
    replace(
        engine.devices,
        "load_backend",
        lambda name, *others: backend if name == "cuda" else load_backend(name, *others),
    )


if __name__ == "__main__":
    plan = sys.argv.pop(1)
    if plan.startswith(OF_A_GPU):
        from tests.support.gpu_faults import breaking

        breaking(plan)
    else:
        pretend(plan)
    sys.exit(main())
