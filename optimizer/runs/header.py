"""What a run's header says to whoever shows a run; see `session.task.header_of` for all of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from optimizer.goals.objectives import is_maximised
from optimizer.runs.payload import Payload


@dataclass(frozen=True)
class GeneRecord(Payload):
    """A gene, ``int`` or ``float``, with its bounds."""

    name: str
    kind: str = "float"
    low: float = nan
    high: float = nan


@dataclass(frozen=True)
class RunHeader(Payload):
    """The circumstances of a recorded run.

    Args:
        data: Symbol and duration of a bar.
        windows: One entry for each window to search on.
        held_out: One for each that is held out.
        failure_names: By the code of a failure.
        notes: A line for each thing that a person must know of the bars.
    """

    what: ClassVar[str] = "the header"

    created_at: str = ""
    strategy: str = ""
    data: str = ""
    is_simulated: bool = False
    windows: tuple[Any, ...] = ()
    held_out: tuple[Any, ...] = ()
    genes: tuple[GeneRecord, ...] = ()
    objectives: tuple[str, ...] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    seed: int | None = None
    failure_names: tuple[str, ...] = ("",)
    notes: tuple[str, ...] = ()
    versions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gene_names(self) -> tuple[str, ...]:
        """Names of the genes, in the order of a genome."""
        return tuple(gene.name for gene in self.genes)

    def natural(self, objectives: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Minimised objectives [..., O] in the sign that people know, and back again."""
        signs = np.array([-1.0 if is_maximised(name) else 1.0 for name in self.objectives])
        natural: npt.NDArray[np.float64] = signs * objectives + 0.0
        return natural
