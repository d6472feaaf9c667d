"""Choosing a member of a front: by its knee, by weights; and comparing fronts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import moocore
import numpy as np

from optimizer.errors import ConfigError
from optimizer.run.compared import hypervolume_shares
from optimizer.search.generation import Floats

if TYPE_CHECKING:
    import pandas as pd


def knee(objectives: Floats) -> int:
    """The member with objectives [F, O], minimised, closest to the best of each.

    Objectives are scaled so that the front reaches from 0 to 1 in each; the distance is the
    ordinary one.

    Source: the compromise solution of Zeleny (1973), one of several meanings of "knee".
    """
    return int((_scale_objectives(objectives) ** 2).sum(axis=1).argmin())


def by_weight(objectives: Floats, weights: Floats) -> int:
    """The member with the best weighted sum of its objectives [F, O], scaled as in `knee`."""
    return int((_scale_objectives(objectives) * weights).sum(axis=1).argmin())


def parse_weights(objectives: tuple[str, ...], weights: Mapping[str, float]) -> Floats:
    """Weights in the order of objectives; missing ones weigh nothing."""
    unknown = sorted(set(weights) - set(objectives))
    if unknown:
        raise ConfigError(f"'{unknown[0]}' is no objective of the run: {', '.join(objectives)}")
    values = np.array([float(weights.get(name, 0.0)) for name in objectives])
    if not (np.isfinite(values).all() and (values >= 0).all() and values.any()):
        raise ConfigError(f"weights must be at least 0, one of them above 0, got {dict(weights)}")
    return values


def require_place(owner: str, what: str, number: int, count: int) -> int:
    """The number of one of several things, refused when there is none such."""
    if not 0 <= number < count:
        have = f"0 to {count - 1}" if count else "none"
        raise ConfigError(f"{owner} has no {what} {number}; it has {have}")
    return number


def compare(fronts: Mapping[str, Floats]) -> "pd.DataFrame":
    """A row a front [F, O]: its members, how many no other front dominates, its hypervolume."""
    import pandas as pd

    names, arrays = list(fronts), list(fronts.values())
    whole = np.concatenate(arrays)
    owner = np.repeat(np.arange(len(arrays)), [len(front) for front in arrays])
    best = moocore.is_nondominated(whole, keep_weakly=True) if len(whole) else np.empty(0, bool)
    kept = np.bincount(owner[best], minlength=len(arrays))
    members = np.array([len(front) for front in arrays])
    return pd.DataFrame(
        {"members": members, "undominated": kept, "hypervolume": hypervolume_shares(arrays)},
        index=pd.Index(names, name="front"),
    )


def _scale_objectives(objectives: Floats) -> Floats:
    low, high = objectives.min(axis=0), objectives.max(axis=0)
    scaled: Floats = (objectives - low) / np.where(high > low, high - low, 1.0)
    return scaled
