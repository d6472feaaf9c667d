"""Search for parameter sets, record what was found, show it.

``evolve`` searches, ``backtest`` tries one candidate, ``agree`` holds its
trades beside those of another program, ``judge`` finds out whether a front is more than luck,
``power`` how large an edge a search would find, ``load_run`` opens a recorded run; its front,
generations and trades are pandas frames. ``signal`` says where a run stands now, ``watch``
whether its new trades are worse, ``portfolio`` trades members of several runs as one account,
``scan`` classes many symbols, ``forecast`` fits a model that a strategy then reads as a column,
``ui`` shows runs in a browser.
"""

import os
import sys

IS_PROGRAM = sys.argv[0].rpartition("/")[2] == __name__ or (
    sys.argv[0] == "-m"
    and any(word == __name__ or word.endswith(f"m{__name__}") for word in sys.orig_argv)
)
"""Whether this process is our program, as far as that is known while it begins."""

if IS_PROGRAM:
    # Before any import: no file of the folder that it is started from is a module that it means.
    # An empty entry of PYTHONPATH means that folder too; only its whole name is meant.
    try:
        _here = os.getcwd()
    except FileNotFoundError:
        _here = ""
    if _here not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        sys.path[:] = [folder for folder in sys.path if folder not in ("", _here)]
    import signal as signals

    # Looking for plugins among all installed packages takes a tenth of what `--help` takes.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
    if signals.getsignal(signals.SIGINT) is signals.default_int_handler:
        # Until a command listens, Ctrl-C ends it without a traceback.
        signals.signal(signals.SIGINT, signals.SIG_DFL)
    # Our package has a room of this name.
    del signals

from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimizer.agreement.agreement import agree
    from optimizer.api import (
        backtest,
        evolve,
        forecast,
        judge,
        load_run,
        portfolio,
        power,
        scan,
        signal,
        ui,
        watch,
    )
    from optimizer.nulls.folder import null_markets
    from optimizer.nulls.judge import null_judge

__all__ = [
    "agree",
    "backtest",
    "evolve",
    "forecast",
    "judge",
    "load_run",
    "null_judge",
    "null_markets",
    "portfolio",
    "power",
    "scan",
    "signal",
    "ui",
    "watch",
]

ROOMS = {
    "agree": "agreement.agreement", "null_judge": "nulls.judge", "null_markets": "nulls.folder",
}  # fmt: skip
"""Files of calls that are not in `api`."""

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""Where our packages lie."""

PACKAGES = ("data", "strategy", "engine", "optimizer")


class OwnPackages:
    """Finds our packages where this one lies: a person's own ``data.py`` is another file."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder`; of other names nothing is known here."""
        return PathFinder.find_spec(name, [ROOT]) if name in PACKAGES else None


sys.meta_path.insert(0, OwnPackages)


def __getattr__(name: str) -> object:
    """A call, whose file is imported when one is asked for."""
    if name in __all__:
        return getattr(import_module(f"optimizer.{ROOMS.get(name, 'api')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
