"""Check of each individual before a device sees it: may it run."""

from collections.abc import Sequence

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.backend import BackendMaker, Floats, Ints
from engine.errors import EngineError, GenomeError
from engine.runtime.compiling.loops import compiled_loop
from strategy.model import Strategy


@compiled_loop
def are_legal(genomes: Floats, least: Floats, most: Floats, is_int: Ints, ordered: Ints) -> bool:
    """True if all genomes [P, G] are legal; `Strategy.check_genomes` names an illegal one.

    `least` and `most` are [G], `is_int` [G] is 1 where values must be whole, of `ordered` [N, 2]
    the first column must be below the second. False too where a number is NaN.
    """
    n_wrong = 0
    for p in range(genomes.shape[0]):
        for g in range(genomes.shape[1]):
            value = genomes[p, g]
            n_wrong += not (least[g] <= value <= most[g])
            n_wrong += is_int[g] * (value != np.rint(value))
        for n in range(ordered.shape[0]):
            n_wrong += not genomes[p, ordered[n, 0]] < genomes[p, ordered[n, 1]]
    return n_wrong == 0


class GenomeValidator:
    """Refuses genomes that are not legal for a strategy."""

    def __init__(self, spec: Strategy) -> None:
        layout = spec.layout
        self._spec = spec
        self._limits = (spec.least, spec.most, layout.is_int.astype(np.int64), layout.ordered)
        # It takes half a second to load a process's first compiled loop.
        are_legal(layout.defaults[None].copy(), *self._limits)

    def require_legal(self, genomes: Floats) -> Floats:
        """The same genomes [P, G].

        Raises:
            GenomeError: When one is not legal; the message names the first.
        """
        if not are_legal(genomes, *self._limits):
            self._spec.check_genomes(genomes)
        return genomes


def require_genomes(spec: Strategy, genomes: Floats) -> Floats:
    """Genomes [P, G], contiguous and writable, because loops are compiled anew for other arrays.

    They are copied where they are otherwise.

    Raises:
        GenomeError: When they are not float64 [P, G].
    """
    genomes = np.require(genomes, None, ["C", "W"])
    if genomes.dtype != np.float64 or genomes.ndim != 2:
        raise GenomeError(
            f"genomes must be float64 [P, {len(spec.layout)}], "
            f"got {genomes.dtype} {list(genomes.shape)}"
        )
    if genomes.shape[1] != len(spec.layout):
        raise GenomeError(
            f"strategy '{spec.name}' has {len(spec.layout)} genes, "
            f"got genomes with {genomes.shape[1]}"
        )
    return genomes


def check_chunk(chunk: int | None) -> None:
    """Refuse a number of individuals that are to be evaluated together."""
    if chunk is not None and chunk < 1:
        raise EngineError(f"chunk must be at least 1 individual, got {chunk}")


def check_keeps_limits(maker: BackendMaker, costs: Costs) -> Costs:
    """Refuse a device that would not keep the limits of an account; costs else."""
    if costs.has_limits != getattr(maker, "keeps_limits", False):
        raise EngineError("a device was chosen for other limits of the account: choose it by costs")
    return costs


def check_windows(series: Sequence[Bars], windows: Sequence[Window]) -> None:
    """Refuse windows that are none of a series.

    Raises:
        EngineError: When there is no series or window, or one does not lie in its series.
    """
    if not series or not windows:
        raise EngineError("the engine needs at least one series and one window")
    for number, window in enumerate(windows):
        if not 0 <= window.series < len(series):
            raise EngineError(
                f"window {number} refers to series {window.series}, there are {len(series)}"
            )
        if not 0 <= window.start < window.end <= len(series[window.series]):
            raise EngineError(
                f"window {number} is bars {window.start} to {window.end}, "
                f"series {window.series} has {len(series[window.series])}"
            )
