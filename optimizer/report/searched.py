"""A search from Python: settings in, a recorded run out."""

from collections.abc import Mapping
from pathlib import Path

from engine.batch import Engine
from engine.errors import DeviceLostError
from optimizer.config.run_config import RunConfig, make_config
from optimizer.errors import ParityError
from optimizer.report.run import Run
from optimizer.runs import RunStore
from optimizer.session.progress import Progress
from optimizer.session.task import Task
from optimizer.session.workflow import start_run


class _Silent:
    """An observer that says nothing."""

    def started(self, task: Task, engine: Engine, store: RunStore) -> None:
        """Nothing is said."""

    def is_due(self, generation: int) -> bool:
        """Never: nobody watches."""
        return False

    def generation(self, progress: Progress) -> None:
        """Nothing is said."""

    def certifying(self, members: int) -> None:
        """Nothing is said."""

    def device_lost(self, config: RunConfig, store: RunStore | None, why: DeviceLostError) -> None:
        """Nothing is done: the process is not ours to replace."""


def evolve(settings: Mapping[str, object]) -> Run:
    """Search with settings; see `optimizer.evolve`.

    >>> import tempfile
    >>> evolve({"population": 8, "generations": 1, "runs": tempfile.mkdtemp()}).status
    'finished'
    """
    result = start_run(make_config(settings, where="evolve"), _Silent(), lambda: False)
    certificate = result["certificate"]
    if isinstance(certificate, Mapping) and certificate["mismatches"]:
        raise ParityError(f"reference and engine disagree\n{certificate['first_mismatch']}")
    return Run(Path(str(result["path"])))
