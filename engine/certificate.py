"""Contents of a certificate; `engine.replay.certificate` makes it, which takes both engines."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from data.bars import Bars


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Result of comparing the reference with the batch engine; a record of runs reads it."""

    individuals: int  # individuals replayed
    windows: int  # windows of each
    trades: int  # trades that the reference made, over all of them
    # Pairs of individual and window with any bit of ledger or accumulators different, between
    # the engines or between both forms of the reference.
    mismatches: int
    first_mismatch: str  # the first of them in full; empty when there is none
    # How many were replayed in plain Python too, some bars of each; all are replayed by the
    # same reference compiled.
    plain_individuals: int = 0
    plain_bars: int = 0  # bars of these together, on which both forms of the reference say the same
    # Loops that numba cannot compile, which were run in plain Python, and why.
    uncompiled: dict[str, str] = field(default_factory=dict)
    ledger_hash: str  # SHA-256 of the reference's ledgers, in the order of individuals and windows
    data_hash: str  # SHA-256 of the content hashes of all series
    strategy: str  # its name and version
    engine_version: int  # version of the law
    device: str  # where the batch engine ran
    versions: dict[str, str]  # library name to version, and the platform

    @property
    def is_green(self) -> bool:
        """True if the engines agree in everything."""
        return self.mismatches == 0

    def as_dict(self) -> dict[str, object]:
        """All fields, ready for JSON."""
        return asdict(self)


def data_hash(series: Sequence[Bars]) -> str:
    """One SHA-256 for all series of a run: of the only one, or of their hashes in order."""
    if len(series) == 1:
        only: str = series[0].content_hash
        return only
    return hashlib.sha256("\n".join(bars.content_hash for bars in series).encode()).hexdigest()
