"""Seconds that searches take, about: each on a core, or all of them by asking a GPU."""

from engine.workload import Workload

INDIVIDUAL_S = 1.8e-6
"""Seconds of a search for an individual beside its evaluation: 7.4 for 1,000 generations of 4,096
on the host of an H200, which evaluated them in 0.4."""

GENERATION_S = 0.0015
"""The same for a generation on a core, however few individuals it has."""

GPU_STEP_S = 0.00015
"""Seconds of a generation on a GPU whose engine evaluates for all, beside bars and rows: 398 null
searches of 512 x 100 on the sample took 28 s on an H100 and 16 cores of its host."""

ROWS_OF_ONE, MOST_ROWS = 4, 4096
"""Rows that an individual reads and a search computes, where the strategy is not at hand: about
those of seller exhaustion."""


def estimate_core_seconds(work: Workload, individuals: int, generations: int) -> float:
    """Estimated seconds of one search on the cores of its workload."""
    return INDIVIDUAL_S * individuals + GENERATION_S * generations + work.cpu_s


def estimate_asking_seconds(
    work: Workload, individuals: int, generations: int, cores: int
) -> float:
    """Estimated seconds of each of many searches, where all cores but one ask a GPU."""
    beside_s = INDIVIDUAL_S * individuals / max(cores - 1, 1)
    return work.gpu_s + GPU_STEP_S * generations + beside_s
