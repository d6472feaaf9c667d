"""Everybody of a search, in rows: the population, then the archive, then newcomers."""

from typing import NamedTuple

import torch

from optimizer.generation import LINEAGE
from optimizer.search.device.fit import N_OBJECTIVES


class Members(NamedTuple):
    """Individuals by row.

    Rows [0, P) are the population in the order of survival, [P, P + A) the archive, of which the
    first so many as it holds count, and [P + A, P + A + P) newcomers.

    Args:
        genomes: [R, G] float64.
        objectives: [R, 3] float64, as in `Evaluation`.
        violations: [R] float64.
        failures: [R] int16.
        lineage: [R, 4] int64, columns `LINEAGE`.
    """

    genomes: torch.Tensor
    objectives: torch.Tensor
    violations: torch.Tensor
    failures: torch.Tensor
    lineage: torch.Tensor

    @classmethod
    def empty(
        cls, rows: int, n_genes: int, device: torch.device, *, is_pinned: bool = False
    ) -> "Members":
        """Room for so many, of whom nothing is known."""
        shapes = (
            ((rows, n_genes), torch.float64),
            ((rows, N_OBJECTIVES), torch.float64),
            ((rows,), torch.float64),
            ((rows,), torch.int16),
            ((rows, len(LINEAGE)), torch.int64),
        )
        return cls(
            *(
                torch.zeros(shape, dtype=dtype, device=device, pin_memory=is_pinned)
                for shape, dtype in shapes
            )
        )
