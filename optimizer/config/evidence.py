"""Settings of the evidence on a front: is it more than luck? None of it changes the front."""

from typing import Literal

from optimizer.config.values import Blocks, Duration, Groups, Settings, Training, knob
from optimizer.errors import ConfigError


class EvidenceSettings(Settings):
    """Null searches, folds and statistics, as `optimizer/evidence/README.md` explains them."""

    judge: bool | None = knob(
        None,
        "Judge the front: with 299 null searches, or not at all; unset does what takes about as "
        "long as the search.",
        decides="nothing",
    )
    null: int = knob(
        0,
        "Searches on shuffled bars, and as many on mirrored ones where those do not say luck.",
        decides="nothing",
        ge=0,
        le=1_000_000,
    )
    null_keep: Literal["auto", "none", "day", "week"] = knob(
        "auto",
        "Rhythm that shuffled bars keep; auto is the day where every minute of it has 20 bars.",
        decides="nothing",
    )
    folds: int = knob(
        6,
        "Folds to search again, each judged on the bars after it; 0 for none.",
        decides="nothing",
        ge=0,
        le=1000,
    )
    every: Duration = knob(
        None,
        "Search again each time so much has passed, such as 30d, on --train before it; its trades "
        "and not folds judge it.",
        decides="nothing",
    )
    train: Training = knob(
        3,
        "Groups of bars that a fold is searched on, or how long a search of --every looks back, "
        "such as 180d.",
        decides="nothing",
    )
    pick_by: Literal["strength", "near", "keep"] = knob(
        "strength",
        "Who trades after each search of --every: the strongest, the one with the strongest "
        "neighbours, or the one before while it is half as strong.",
        decides="nothing",
    )
    anchored: bool = knob(False, "Search each fold from the first bar on.", decides="nothing")
    cpcv: Groups = knob(
        None,
        "Search combinatorial splits again: 8,2 tests every 2 of 8 groups.",
        decides="nothing",
    )
    purge: int | None = knob(
        None,
        "Bars cut from training before a test; the longest holding time if unset.",
        decides="nothing",
        ge=0,
    )
    embargo: int | None = knob(
        None,
        "Bars cut from training after a test; the longest warm-up if unset.",
        decides="nothing",
        ge=0,
    )
    blocks: Blocks = knob(
        12,
        "Blocks of bars whose halves are compared over all trials, an even number; 0 for no "
        "statistics over trials.",
        decides="nothing",
    )
    resamples: int = knob(
        999, "Resamples of the bootstrap over all trials.", decides="nothing", ge=1, le=1_000_000
    )
    trials: int = knob(
        4096, "Trials that statistics over days use at most.", decides="nothing", ge=2, le=100_000
    )


def check_schedule(settings: EvidenceSettings) -> None:
    """Refuse half a schedule.

    Raises:
        ConfigError: With the flag that is missing.
    """
    is_duration = isinstance(settings.train, str)
    if settings.every is not None and not is_duration:
        raise ConfigError(
            f"--every {settings.every} needs how long each search looks back: --train 180d"
        )
    if settings.every is None and is_duration:
        raise ConfigError(
            f"--train {settings.train} is a duration, which --every asks for: add --every 30d, or "
            "name a number of groups"
        )
