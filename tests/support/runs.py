"""Small recorded runs."""

from pathlib import Path

from optimizer.config import RunConfig
from optimizer.workflow import start_run

SMALL = {"population": 16, "generations": 3, "min_trades": 3, "report": False}


class Nobody:
    """An observer that looks away."""

    def started(self, task, engine, store):
        """Nothing happens."""

    def is_due(self, generation):
        """Nothing is looked at."""
        return False

    def generation(self, progress):
        """Nothing happens."""

    def certifying(self, members):
        """Nothing happens."""


def record_run(runs, **changes):
    """Record a small run in a folder; the path of its directory."""
    config = RunConfig(**{**SMALL, "runs": str(runs), **changes})
    return Path(str(start_run(config, Nobody(), lambda: False)["path"]))
