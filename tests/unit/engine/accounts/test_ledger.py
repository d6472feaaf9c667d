"""Ledgers and accumulators have grown; what they held before has stayed, in every bit.

The sums below were taken from the engine of version 3, as it was before shorts.
"""

import hashlib

import numpy as np
import pytest

from data import Window, load_bars
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS, REASONS
from engine.batch import Engine
from engine.reference import Reference
from strategy import STRATEGIES
from tests.support.backends import BACKEND_PARAMETERS
from tests.support.references import FORMS
from tests.support.worlds import random_genomes

BARS = load_bars("sample")
WINDOWS = [
    Window.whole(BARS),
    Window(0, len(BARS) // 3, 2 * len(BARS) // 3),
    Window(0, len(BARS) - 500, len(BARS)),
]

OLD_COLUMNS = (
    "signal_bar", "entry_bar", "exit_bar", "reason", "entry", "stop", "target", "exit", "r",
)  # fmt: skip
OLD_ACCUMULATORS = (
    "trades", "wins", "sum_r", "sum_r2", "gain_r", "loss_r", "peak_r", "max_drawdown_r", "equity",
    "peak_equity", "max_drawdown", "bars_in_market", "rejected", "exits_stop_gap", "exits_stop",
    "exits_target", "exits_time", "exits_end", "loss_r2",
)  # fmt: skip
NEW_ACCUMULATORS = ("exits_signal", "exits_session", "shorts", "wins_short", "sum_r_short",
                    "exits_reverse", "orders", "expired", "partials", "unsized", "coarse",
                    "skipped", "max_leverage")  # fmt: skip

BEFORE = {
    ("mean_reversion", 0): (
        4056,
        "1aa756a48959a844ee320700f50d8e6880930853ede5baab8e28eeff455a0176",
    ),
    ("mean_reversion", 3): (
        3001,
        "4639db7cff090ca33880bc02a554486df712f6215d97b9d2019d218fb5849cdf",
    ),
    ("seller_exhaustion", 0): (
        15554,
        "6f9b96e5e07c270efd62380a53f4a36befbda0676a3b23f95481b7daaa0bd5b6",
    ),
    ("seller_exhaustion", 3): (
        12742,
        "32fab2fadfa0bfeb884eac5e5aa97586b9a3eec4aacb5a32ef98fc82df9da0ab",
    ),
}
"""By strategy and delay: trades of 64 individuals in all windows, and the digest of everything."""

MAKERS = [
    "compiled_reference",
    *BACKEND_PARAMETERS,
]


def compute_results(maker, spec, costs, genomes):
    """Ledgers [P][W] and accumulators [P, W, A]."""
    if maker in FORMS:
        reference = Reference(spec, [BARS], WINDOWS, costs, form=FORMS[maker])
        ledgers = [reference.trades(genome) for genome in genomes]
        folded = [
            [reference.fold(ledger, genome) for ledger in some]
            for genome, some in zip(genomes, ledgers, strict=True)
        ]
        return ledgers, np.array(folded)
    engine = Engine(spec, [BARS], WINDOWS, costs, device=maker)
    return list(engine.ledgers(genomes)), engine.evaluate(genomes)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("name", "delay"), BEFORE)
def test_old_columns_and_accumulators_are_unchanged_in_every_bit(maker, name, delay):
    """Their digest is that of the engine before; the new column holds longs alone."""
    spec = STRATEGIES[name]
    genomes = np.concatenate([spec.layout.defaults[None], random_genomes(spec, 63, seed=7)])
    ledgers, accumulators = compute_results(maker, spec, Costs(entry_delay=delay), genomes)
    digest, trades = hashlib.sha256(), 0
    for ledger in (each for some in ledgers for each in some):
        trades += len(ledger)
        digest.update(np.int64(ledger.rejected).tobytes())
        for column in (getattr(ledger, name) for name in OLD_COLUMNS):
            digest.update(column.astype(column.dtype.newbyteorder("<")).tobytes())
        assert (ledger.side == 1).all()
        assert ledger.side.dtype == np.int8
        assert ledger.last_stop.tobytes() == ledger.stop.tobytes()
    old = accumulators[:, :, : len(OLD_ACCUMULATORS)].copy()
    # Until version 4 a bar that was left at its open counted too: here after gaps alone.
    gaps = old[:, :, OLD_ACCUMULATORS.index("exits_stop_gap")]
    old[:, :, OLD_ACCUMULATORS.index("bars_in_market")] += gaps
    digest.update(old.astype("<f8").tobytes())
    assert (trades, digest.hexdigest()) == BEFORE[name, delay]
    assert not accumulators[:, :, len(OLD_ACCUMULATORS) :].any()


def test_new_names_stand_behind_all_older_ones():
    """What is appended moves nothing."""
    assert ACCUMULATORS == OLD_ACCUMULATORS + NEW_ACCUMULATORS
    assert REASONS == (
        "stop_gap", "stop", "target", "time", "end", "signal", "session", "reverse", "trail",
        "break_even",
        "margin",
    )  # fmt: skip
