"""Plan of a judgement: its parts."""

from typing import TYPE_CHECKING

from pydantic import ConfigDict

from optimizer.config.settings import EvidenceSettings
from optimizer.evidence.splits import Split, combinatorial, walk_forward

if TYPE_CHECKING:
    from optimizer.run.task import Task

DEFAULT_TRAIN_GROUPS = 3


class Plan(EvidenceSettings):
    """Parts of a judgement: the knobs, where 0 leaves a part out, and further parts.

    Args:
        causal: Whether to look for look-ahead in the whole front.
        pick: Number of another member; None for that of greatest strength.
        is_open: Whether to look at the bars that were held out.
        is_lenient: Whether folds that the bars are too few for are left out, with a note.
    """

    # Knobs were checked before; a member may come as a number of numpy.
    model_config = ConfigDict(strict=False)

    causal: bool = False
    pick: int | None = None
    is_open: bool = False
    is_lenient: bool = False

    @property
    def train_groups(self) -> int:
        """Groups that a fold is searched on; a duration is that of a schedule."""
        return self.train if isinstance(self.train, int) else DEFAULT_TRAIN_GROUPS

    def choose_purge(self, task: "Task") -> int:
        """Bars cut from the end of a training before its test: by default the longest trade's."""
        return (task.spec.longest_hold or 0) if self.purge is None else self.purge

    def choose_embargo(self, task: "Task") -> int:
        """Bars cut from the start of a training after a test: by default all that a row reads."""
        if self.embargo is not None:
            return self.embargo
        return task.spec.longest_reach(min(bars.timeframe_ns for bars in task.markets.series))

    def split_walks(self, task: "Task") -> tuple[Split, ...]:
        """Folds of a task without held-out bars, if any are planned.

        Raises:
            ConfigError: When the bars are too few for them.
        """
        if not self.folds:
            return ()
        return walk_forward(
            task.markets.series,
            task.markets.uncut,
            folds=self.folds,
            train_groups=self.train_groups,
            purge=self.choose_purge(task),
            anchored=self.anchored,
        )

    def split_combinations(self, task: "Task") -> tuple[Split, ...]:
        """Combinatorial splits of the same, if any are planned.

        Raises:
            ConfigError: When the bars are too few for them.
        """
        if self.groups is None:
            return ()
        count, tests = self.groups
        return combinatorial(
            task.markets.series,
            task.markets.uncut,
            count=count,
            tests=tests,
            purge=self.choose_purge(task),
            embargo=self.choose_embargo(task),
        )

    @property
    def groups(self) -> tuple[int, int] | None:
        """N and k of combinatorial splits to search again; None for none."""
        if self.cpcv is None:
            return None
        count, tests = map(int, self.cpcv.split(","))
        return count, tests
