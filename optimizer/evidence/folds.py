"""Parts of the bars that were searched again, each judged on the bars after it."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, comb
from typing import Annotated, ClassVar

import numpy as np

from optimizer.evidence.figures import Figure, Number, Why, make_undefined
from optimizer.evidence.out_of_sample import OutOfSample
from optimizer.evidence.statistic import Around, RowSettings, Statistic, Weighed, shorten
from optimizer.formatting import format_count
from optimizer.store.payload import OPTIONAL, Payload
from strategy.gene import GeneText


@dataclass(frozen=True)
class Range(Payload):
    """Bars of a symbol, by the times of the first and the last."""

    symbol: str
    first: str
    last: str


@dataclass(frozen=True)
class FoldRow(Payload):
    """One fold: searched on `train`, its pick judged on `test`; no genes of an empty front."""

    what: ClassVar[str] = "a fold"

    train: tuple[Range, ...]
    test: tuple[Range, ...]
    genes: Mapping[str, GeneText]
    trades: int
    mean_r: Number
    efficiency: Number
    why: Why = field(default_factory=dict)
    # Symbols of the run without a bar in `test`.
    untested: Annotated[tuple[str, ...], OPTIONAL] = ()


@dataclass(frozen=True)
class FoldsRecord(OutOfSample):
    """Folds that were searched again, one after another in time; not the pick is judged by them."""

    kind: str  # ``rolling`` or ``anchored``
    train: int  # groups that each is trained on
    purge: int  # bars cut from the end of training
    rows: tuple[FoldRow, ...]
    trades: int
    closing_days: int
    mean_r: Number
    strength: Number
    psr: Number
    drift: Number
    embargo: int = 0
    why: Why = field(default_factory=dict)

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """All folds together, how many gained, and symbols that some do not test."""
        gained = sum(row.mean_r is not None and row.mean_r > 0 for row in self.rows)
        left_out = Counter(name for row in self.rows for name in row.untested)
        untested = "".join(
            f" {name} is tested in {len(self.rows) - count} of them."
            for name, count in left_out.items()
        )
        yield Weighed(
            "folds",
            f"Searched again on {len(self.rows)} parts, judged on the bars after each: "
            f"{self.format('mean_r')} R a trade over {format_count(self.trades, 'trade')}; "
            f"{gained} gained.{untested}",
            self.find_side(around.tries),
        )


@dataclass(frozen=True)
class FoldSettings(RowSettings[FoldsRecord]):
    """Settings that decide the searches of folds."""

    what: ClassVar[str] = "settings of folds"
    question: ClassVar[str] = "fold"
    part: ClassVar[str] = "folds"
    noun: ClassVar[str] = "fold"

    folds: int
    train: int  # groups that each is trained on
    purge: int  # bars cut from the end of training
    anchored: bool

    def is_stated(self, recorded: FoldsRecord, count: int) -> bool:
        """As of `RowSettings`."""
        cut = recorded.train, recorded.purge
        return self == FoldSettings(len(recorded.rows), *cut, recorded.kind == "anchored")


@dataclass(frozen=True)
class PathsRecord(Statistic):
    """Combinatorial splits, each searched again, and the strengths of their paths."""

    splits: int
    paths: tuple[Number, ...]
    least: Number
    low: Number
    median: Number

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """The spread of the paths."""
        yield Weighed(
            "paths",
            f"{self.splits} splits searched again: strength of {len(self.paths)} paths from "
            f"{shorten(self.least)}, median {shorten(self.median)}.",
        )


@dataclass(frozen=True)
class PathSettings(RowSettings[PathsRecord]):
    """Settings that decide the searches of combinatorial splits."""

    what: ClassVar[str] = "settings of combinatorial splits"
    question: ClassVar[str] = "cpcv"
    part: ClassVar[str] = "cpcv"
    noun: ClassVar[str] = "combinatorial split"

    cpcv: str  # how many groups, and how many are tested at a time
    purge: int  # bars cut from training before a test
    embargo: int  # bars cut from training after a test

    def is_stated(self, recorded: PathsRecord, count: int) -> bool:
        """As of `RowSettings`."""
        return recorded.splits == comb(*map(int, self.cpcv.split(",")))


def summarise_strengths(strengths: Sequence[Figure]) -> dict[str, Figure]:
    """Least, ceil(0.05 n)-th smallest and median of n paths; undefined where none traded."""
    known = np.sort([strength.value for strength in strengths if strength.is_defined])
    if not len(known):
        return dict.fromkeys(("least", "low", "median"), make_undefined("no path traded"))
    low = known[ceil(0.05 * len(known)) - 1]
    spread = {"least": known[0], "low": low, "median": np.median(known)}
    return {name: Figure(float(value)) for name, value in spread.items()}
