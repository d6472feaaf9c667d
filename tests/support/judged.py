"""Hand-made judgements, one for each grade, and a run that has one."""

import math
from dataclasses import replace

from optimizer.evidence.betting import tally
from optimizer.evidence.bootstrap import BootstrapRecord
from optimizer.evidence.cscv import CscvRecord
from optimizer.evidence.folds import FoldRow, FoldsRecord, Range
from optimizer.evidence.judgement import Judgement, add_verdict, read_opened_result
from optimizer.evidence.lookahead import CausalRecord
from optimizer.evidence.null import Compared, NullKind, NullRecord
from optimizer.evidence.out_of_sample import OutOfSample
from optimizer.evidence.pick import PickRecord
from optimizer.evidence.robust import CHECKS, COST_TIMES, CostRecord, RobustRecord
from optimizer.evidence.sharpe import SharpeRecord
from optimizer.evidence.trials import TrialsRecord
from optimizer.evidence.verdict import Verdict
from optimizer.store import RunStore
from optimizer.store.caveats import JUDGEMENT

TRAINED, TESTED = (
    (Range("SYMBOL", f"2020-0{month}-01T00:00:00Z", f"2020-0{month + 2}-01T00:00:00Z"),)
    for month in (1, 4)
)


def null_kind(at_least, run=299):
    """Null searches of which so many reach the pick's strength of 3; one found nothing."""
    # One found nothing.
    strengths = (-math.inf,) + (3.5,) * at_least + (1.0,) * (run - at_least - 1)
    counted = tally(3.0, strengths, run)
    strength = Compared(3.0, counted.at_least, counted.p)
    shown = (None, *strengths[1 : counted.searches])
    return NullKind(counted.searches, counted.is_stopped, counted.best, strength, {}, None, shown)


def make_unseen(trades, closing_days, mean_r, psr, strength=None):
    """Trades on bars that a search had not seen."""
    return OutOfSample(
        trades=trades, closing_days=closing_days, mean_r=mean_r, psr=psr, strength=strength
    )


def fold(mean_r, why):
    """One fold; without a mean R none was feasible."""
    known = {} if mean_r is not None else {"mean_r": why, "efficiency": why}
    genes = {} if mean_r is None else {"ema_fast": 20}
    return FoldRow(TRAINED, TESTED, genes, 0 if mean_r is None else 40, mean_r, mean_r, known)


def judgement(grade="robust", *, member=0, why="no candidate was feasible"):
    """All evidence, such that the verdict is this grade; `why` is given for what is undefined."""
    confirms = {"trades": 80, "closing_days": 60, "mean_r": 0.2, "strength": 2.5, "psr": 0.99}
    robust = RobustRecord(
        plateau=41 / 52,
        neighbours=52,
        costs=tuple(CostRecord(times, 3.0 - times, 30.0 - 10 * times) for times in COST_TIMES),
        break_even_bp=30.0,
        charged_bp=10.0,
        delay=None,
        undecided=0.01,
        target_first=3.1,
        left_out={"quarter 1": 0.1},
        drawdowns=(0.1, 0.18, 0.25),
        checks=dict.fromkeys(CHECKS, True),
        why={"delay": why},
    )
    base = Judgement(
        verdict=Verdict("not_judged", ""),
        pick=PickRecord(member, {"ema_fast": 20}, 3.0, 60, mean_r=0.31),
        null=NullRecord(299, "day", null_kind(0), null_kind(1)),
        folds=FoldsRecord(
            "rolling", 3, 4, (fold(0.2, why), fold(None, why)), **confirms, drift=None,
            why={"drift": why},
        ),
        trials=TrialsRecord(400, 300, 300, 40.0),
        sharpe=SharpeRecord(0.1, 0.0, 3.0, 300, 0.999, 60.0, 0.6, 0.4),
        cscv=CscvRecord(12, 0.4, 0.3, 0.1, 0.0, 0.2),
        bootstrap=BootstrapRecord(999, 3.0, 0.01, 0.02, 0.03),
        robust=robust,
        causal=CausalRecord(60, 8, 400, 0),
    )  # fmt: skip
    changes = {
        "invalid": {"causal": CausalRecord(60, 8, 400, 3, "SYMBOL, bars from 412 on")},
        "too_little": {"pick": replace(base.pick, trades=12)},
        "not_judged": {"null": None},
        "luck": {"null": NullRecord(299, "day", null_kind(6))},
        "lost": {"pick": replace(base.pick, strength=-5.9, mean_r=-0.61)},
        "weak": {"folds": replace(base.folds, psr=0.5)},
        "holds": {"robust": replace(robust, checks={**robust.checks, "delay": False})},
    }
    return replace(base, **changes.get(grade, {}))


def record_judgement(path, judged):
    """Record a judgement with the verdict that follows from it; the verdict."""
    with RunStore.open(path, writable=True) as store:
        result, _ = read_opened_result(store)
        judged = add_verdict(judged, result, path, seconds=12.3, is_warm_started=False)
        store.add_evidence(JUDGEMENT, judged.payload())
        store.flush()
    return judged
