"""Drift: are new trades worse than those behind the verdict? One may look at any time.

Bets that R lies below a lower bound of the reference, each begun at another trade. While the mean
of new R, given the past, is at least that bound, their evidence is at most a fair game. So an
alarm ever comes with a chance of 0.05 at most; the reference's own doubt adds 0.05.

Sources: Ville, "Etude critique de la notion de collectif", 1939; Waudby-Smith and Ramdas,
"Estimating means of bounded random variables by betting", JRSS B 86(1), 2024.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from data.checks import Floats
from optimizer.evidence.out_of_sample import FEWEST_TRADES
from optimizer.evidence.statistic import AGAINST, Weighed
from optimizer.formatting import format_count
from optimizer.store.payload import Payload

ALARM = 20.0
"""Evidence from which on there is an alarm."""

N_BETS = 16
LEAST_TOP = 3.0
"""R, above which a trade counts no more than this, unless the reference has a greater one."""

NORMAL_95 = 1.6448536269514722
"""Quantile of the standard normal distribution at 0.95."""


class DriftReference(NamedTuple):
    """R that new trades are held against."""

    top: float  # R above it counts as it
    least_mean: float  # lower bound of the mean, at 0.95


@dataclass(frozen=True, kw_only=True)
class DriftRecord(Payload):
    """Trades since the bars that a run knew, beside the ones behind its verdict."""

    what: ClassVar[str] = "a drift"

    source: str  # of the reference: ``held-out bars``, ``schedule``, ``folds``
    reference_trades: int
    least_mean: float  # R, that new trades have to reach on the mean
    top: float  # R above it counts as it
    since: str  # close of the last bar that the run knew
    until: str  # close of the newest bar
    trades: int  # that were entered since, and are closed
    mean_r: float | None  # None without trades
    evidence: float  # after the last of them
    alarm_at: int | None = None  # number of the trade with which it came, from 1; None for none
    limit: float = ALARM
    sentence: str = ""  # evidence and limit in one line, to be read alone

    def __post_init__(self) -> None:
        object.__setattr__(self, "sentence", self._describe())

    def _describe(self) -> str:
        if self.mean_r is None:
            return f"No trade since {self.since}: too early to say."
        trades = f"{format_count(self.trades, 'trade')} since, {self.mean_r:.2f} R each"
        evidence = f"evidence {self.evidence:.3g}, an alarm needs {self.limit:g}"
        if self.alarm_at is None:
            return f"No sign of decay: {trades} ({evidence})."
        return f"Alarm with trade {self.alarm_at}: new trades are worse. {trades} ({evidence})."

    @property
    def row(self) -> Weighed:
        """Row beside the evidence of a judgement."""
        return Weighed("drift", self.sentence, "" if self.alarm_at is None else AGAINST)


def build_drift_reference(r: Floats) -> DriftReference | None:
    """Baseline of new trades, by R [n] of trades that no search saw; None of few or equal ones."""
    if len(r) < FEWEST_TRADES or (r == r[0]).all():
        return None
    doubt = NORMAL_95 * float(r.std(ddof=1)) / math.sqrt(len(r))
    return DriftReference(max(LEAST_TOP, float(r.max())), float(r.mean()) - doubt)


def compute_drift_evidence(reference: DriftReference, r: Floats) -> Floats:
    """Evidence after each of new trades [n], in the order in which they closed.

    Bet j of 16 stakes the share `a_j = j / (17 (top - m0))` on R below m0; at trade i a new part
    `1 / (i (i + 1))` of the stake joins it, and the rest waits.
    """
    shares = np.arange(1, N_BETS + 1) / ((N_BETS + 1) * (reference.top - reference.least_mean))
    stakes, evidence = np.zeros(N_BETS), np.empty(len(r))
    for i, value in enumerate(np.minimum(r, reference.top).tolist(), start=1):
        stakes = (stakes + 1 / (i * (i + 1))) * (1 + shares * (reference.least_mean - value))
        evidence[i - 1] = 1 / (i + 1) + stakes.mean()
    return evidence


def find_alarm(evidence: Floats) -> int | None:
    """Number of the trade, from 1, with which the alarm comes; None for none."""
    reached = np.flatnonzero(evidence >= ALARM)
    return int(reached[0]) + 1 if len(reached) else None
