"""A recorded run with everything that can be asked of it, made by a search or found again."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from optimizer.config.run_config import make_config
from optimizer.report.apart import Apart
from optimizer.report.plots import Plots
from optimizer.report.tables import Specs, Tables
from optimizer.runs import find_run
from optimizer.runs.result import refuse_red
from optimizer.session.workflow import Observer, start_run


class Run(Tables):
    """A run as tables and charts, and its members taken apart."""

    @cached_property
    def plot(self) -> Plots:
        """Every chart of the report as a figure of plotly."""
        return Plots(self)

    def apart(self, member: int, window: int = 0) -> Apart:
        """A member taken apart in one of its windows: rows, signals, trades twice."""
        return Apart(self.task, self.genomes[self.check_member(member)], window)


def load_run(name: str = "latest", runs: str | Path = "runs", data: Specs | None = None) -> Run:
    """Open a recorded run; see `optimizer.load_run`."""
    return Run(find_run(Path(runs), name), data)


def evolve(settings: Mapping[str, object]) -> Run:
    """Search with settings; see `optimizer.evolve`.

    >>> import tempfile
    >>> evolve({"population": 8, "generations": 1, "runs": tempfile.mkdtemp()}).status
    'finished'
    """
    result = start_run(make_config(settings, where="evolve"), Observer(), lambda: False)
    refuse_red(result.certificate)
    return Run(Path(result.path))
