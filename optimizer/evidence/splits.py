"""Bars cut into training and test: groups, walk-forward, combinatorial splits and their paths.

All are windows, so indicators see the history before them and no trade crosses a border. Borders
are moments. One symbol's cut its longest window into equal groups; several symbols' cut all bars,
taken together by time. No symbol's test lies in another's training. Purge and embargo count bars
of each series itself, as holding times and warm-ups do.

Sources: Pardo, "The Evaluation and Optimization of Trading Strategies", 2nd ed. 2008, for
walk-forward; Lopez de Prado, "Advances in Financial Machine Learning", 2018, ch. 7 and 12, for
purge, embargo and combinatorial splits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from data.bars import Bars, Role, Window, groups
from optimizer.errors import ConfigError
from optimizer.formatting import format_count

MOST_SPLITS = 10_000
"""Combinations that are made at most: each is a search of its own."""

Placed = list[tuple[Window, list[int]]]
"""Searched windows [W], the first bar of each group in them and the end of the last, [m + 1]."""


@dataclass(frozen=True)
class Split:
    """Windows to search on, and windows to judge the result on."""

    # Windows with the role ``train``; those of one searched window stand together, in the
    # order of time. Windows without bars are left out.
    train: tuple[Window, ...]
    # Of each tested group, its windows with the role ``test``, in the order of the searched
    # ones; those without bars are left out.
    tests: tuple[tuple[Window, ...], ...]
    groups: tuple[int, ...]  # numbers of the groups that are tested, ascending

    @property
    def test(self) -> tuple[Window, ...]:
        """The windows of all tested groups."""
        return tuple(window for windows in self.tests for window in windows)


def walk_forward(
    series: Sequence[Bars],
    windows: Sequence[Window],
    *,
    folds: int,
    train_groups: int,
    purge: int = 0,
    anchored: bool = False,
) -> tuple[Split, ...]:
    """Folds [F] in the order of time, each trained on groups [R] and tested on the one after them.

    Nothing is trained on after a test, so there is no embargo. With `anchored` training always
    begins at the start; `purge` bars are cut from its end.

    Raises:
        ConfigError: When bars are too few for so many groups.
    """
    groups_in_all = folds + train_groups
    placed = _place_borders(series, windows, groups_in_all, (purge, 0), trained=train_groups)
    splits = []
    for fold in range(folds):
        first, test = 0 if anchored else fold, fold + train_groups
        train = ((w, cuts[first], cuts[test] - purge) for w, cuts in placed)
        splits.append(Split(_cut("train", train), (_cut_group(placed, test),), (test,)))
    return tuple(splits)


def combinatorial(
    series: Sequence[Bars],
    windows: Sequence[Window],
    *,
    count: int,
    tests: int,
    purge: int = 0,
    embargo: int = 0,
) -> tuple[Split, ...]:
    """Splits [C(N, k)]: every set of k `tests` of N groups in lexicographic order; k-fold with 1.

    A training group is a window of its own; groups that touch are not joined. `purge` bars are cut
    from training before a test, `embargo` bars after it.

    Raises:
        ConfigError: When splits are too many, or bars too few for so many groups.
    """
    if comb(count, tests) > MOST_SPLITS:
        raise ConfigError(
            f"every {tests} of {count} groups are {comb(count, tests):,} splits, and at most "
            f"{MOST_SPLITS:,} are made: name fewer groups, or fewer or more that are tested"
        )
    placed = _place_borders(series, windows, count, (purge, embargo))
    splits = []
    for chosen in combinations(range(count), tests):
        train = (
            (window, *_purge_group(cuts, group, chosen, (purge, embargo)))
            for window, cuts in placed
            for group in range(count)
            if group not in chosen
        )
        tested = tuple(_cut_group(placed, group) for group in chosen)
        splits.append(Split(_cut("train", train), tested, chosen))
    return tuple(splits)


def list_paths(count: int, tests: int) -> list[list[int]]:
    """Paths [C(N - 1, k - 1)] through combinatorial splits: the split of each group [N].

    Path j takes group i from the j-th split that tests it, so that each covers every group once.
    """
    chosen = list(combinations(range(count), tests))
    seen_by = [[s for s, groups in enumerate(chosen) if group in groups] for group in range(count)]
    return [[splits[path] for splits in seen_by] for path in range(comb(count - 1, tests - 1))]


def _place_borders(
    series: Sequence[Bars],
    windows: Sequence[Window],
    count: int,
    cut: tuple[int, int],
    *,
    trained: int = 0,
) -> Placed:
    longest = max(windows, key=len)
    _check_groups(len(longest), count, cut, trained)
    opens = [series[window.series].timestamp[window.start : window.end] for window in windows]
    is_one = len({window.series for window in windows}) == 1
    # One symbol's folds follow its longest window; several share borders by all of their bars.
    times = opens[windows.index(longest)] if is_one else np.sort(np.concatenate(opens))
    moments = [times[end] for _, end in groups(0, len(times), count)[:-1]]
    placed = []
    for window, times_of_window in zip(windows, opens, strict=True):
        inner = window.start + np.searchsorted(times_of_window, moments)
        placed.append((window, [window.start, *inner.tolist(), window.end]))
    return placed


def _check_groups(bars: int, count: int, cut: tuple[int, int], trained: int) -> None:
    """Check that purge and embargo take half of a group at most; `trained` are those before folds.

    Raises:
        ConfigError: With what works.
    """
    most = bars // max(2 * sum(cut), 1)
    if count <= most:
        return
    asked, taken = f"{count} groups of {bars:,} bars", "purge and embargo"
    if trained:
        folds, training = format_count(count - trained, "fold"), format_count(trained, "group")
        asked, taken = f"{folds} after {training} of training: {asked}", "purge"
    if most > max(trained, 1):
        works = f"ask for at most {format_count(most - trained, 'fold' if trained else 'group')}"
    elif most > 1:
        works = f"ask for 1 group of training and at most {format_count(most - 1, 'fold')}"
    else:
        works = f"{2 * sum(cut) * count:,} bars would do"
        if count <= bars:
            works = f"{works}, or {taken} of at most {bars // (2 * count)} bars"
    raise ConfigError(
        f"{asked} are too short: {taken} of {sum(cut):,} bars may be half a group at most; {works}"
    )


def _purge_group(
    cuts: list[int], group: int, chosen: Sequence[int], cut: tuple[int, int]
) -> tuple[int, int]:
    """Start and end of a training group without bars near a test, however short those between."""
    purge, embargo = cut
    before = [cuts[test + 1] + embargo for test in chosen if test < group]
    after = [cuts[test] - purge for test in chosen if test > group]
    return max([cuts[group], *before]), min([cuts[group + 1], *after])


def _cut_group(placed: Placed, group: int) -> tuple[Window, ...]:
    return _cut("test", ((w, cuts[group], cuts[group + 1]) for w, cuts in placed))


def _cut(role: Role, ranges: Iterable[tuple[Window, int, int]]) -> tuple[Window, ...]:
    """Windows from a start to an end; those without bars are left out."""
    return tuple(Window(w.series, start, end, role) for w, start, end in ranges if start < end)
