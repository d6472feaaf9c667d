"""Trials of one search judged in windows of groups: is what it found stable?

All of it is in-sample, for the search saw these bars. Source: Lopez de Prado, "Advances in
Financial Machine Learning", 2018, ch. 12, for paths through combinatorial splits.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from data.bars import Window
from data.checks import Floats
from optimizer.evidence.figures import Figure, Number, Why, encode_figures, make_undefined
from optimizer.evidence.splits import Split
from optimizer.evidence.statistic import Around, Statistic, Weighed
from optimizer.evidence.strength import strength_of_sums

WindowIndices = Mapping[tuple[int, int, int], int]


@dataclass(frozen=True)
class StabilityRecord(Statistic):
    """Combinatorial splits of which each picks anew among the trials of the one search.

    In-sample, for that search saw all bars.
    """

    splits: int
    least: Number
    low: Number
    median: Number
    why: Why = field(default_factory=dict)

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """The middle and the worst path."""
        yield Weighed(
            "same trials",
            f"Best settings of {self.splits} other time splits: median strength "
            f"{self.format('median')}, worst {self.format('least')} (in-sample).",
        )


def evaluate_fixed_paths(
    sums: Floats,
    windows: Sequence[Window],
    splits: Sequence[Split],
    of_paths: Sequence[Sequence[int]],
) -> StabilityRecord:
    """Each split takes the trial of greatest strength in its training; paths join its tests.

    Args:
        sums: [N, W, 2] sum of R and sum of R squared of trials of one search.
        windows: [W] from `optimizer.evidence.splits.list_windows`.
        splits: From `optimizer.evidence.splits.combinatorial`.
        of_paths: From `optimizer.evidence.splits.list_paths`.

    Returns:
        In-sample, for the search saw all of these bars. Undefined where no path traded.
    """
    window_indices = {(w.series, w.start, w.end): i for i, w in enumerate(windows)}
    tested = [_sum_test_groups(sums, split, window_indices) for split in splits]
    strengths = [
        strength_of_sums(*np.sum([tested[s][group] for group, s in enumerate(path)], axis=0))
        for path in of_paths
    ]
    return StabilityRecord(len(splits), **encode_figures(**summarise_strengths(strengths)))


def summarise_strengths(strengths: Sequence[Figure]) -> dict[str, Figure]:
    """Least, ceil(0.05 n)-th smallest and median of n paths; undefined where none traded."""
    known = np.sort([strength.value for strength in strengths if strength.is_defined])
    if not len(known):
        return dict.fromkeys(("least", "low", "median"), make_undefined("no path traded"))
    low = known[math.ceil(0.05 * len(known)) - 1]
    spread = {"least": known[0], "low": low, "median": np.median(known)}
    return {name: Figure(float(value)) for name, value in spread.items()}


def _sum_test_groups(
    sums: Floats, split: Split, window_indices: WindowIndices
) -> dict[int, Floats]:
    """Sums [2] of a split's own choice in each group that it tests; 0 where it has none."""
    chosen = _find_strongest(_sum_windows(sums, split.train, window_indices))
    return {
        group: _sum_windows(sums[[chosen]], windows, window_indices)[0]
        if chosen >= 0
        else np.zeros(2)
        for group, windows in zip(split.groups, split.tests, strict=True)
    }


def _sum_windows(sums: Floats, windows: Sequence[Window], window_indices: WindowIndices) -> Floats:
    """Sums [N, 2] over some of the windows of [N, W, 2]."""
    chosen = [window_indices[w.series, w.start, w.end] for w in windows]
    added: Floats = sums[:, chosen].sum(axis=1)
    return added


def _find_strongest(sums: Floats) -> int:
    """The first trial of greatest strength by sums [N, 2]; -1 where none is defined."""
    is_known = sums[:, 1] > 0
    roots = np.sqrt(np.where(is_known, sums[:, 1], 1.0))
    strengths = np.where(is_known, sums[:, 0] / roots, -np.inf)
    return int(strengths.argmax()) if is_known.any() else -1
