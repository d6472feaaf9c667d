"""The adaptive trend: check values of the law, in reference and engine."""

import csv
import hashlib
from pathlib import Path

import numpy as np
import pytest

from data import LoadOptions, Window, load_bars
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.reference import Reference
from engine.replay.parity import compare_accumulators, compare_ledgers
from engine.runtime.compiling.forms import CompiledForm
from strategy.indicators import adaptive_trend as law
from tests.support.backends import BACKEND_PARAMETERS
from tests.support.trend import PARAMETERS, STRATEGIES

LAW = list(csv.DictReader((Path(__file__).parent / "trend_values.csv").read_text().splitlines()))
"""Check values: exits by signal, stop_gap, stop, target, time and end."""

EXITS = ("signal", "stop_gap", "stop", "target", "time", "end")


def load_series(line, folder):
    """The series of a line, exact duplicates dropped."""
    path = folder / f"{line['series']}.parquet"
    return load_bars(f"parquet:{path}", LoadOptions(dedupe=True))


def compute_stages(close, parameters, is_script, run):
    """Votes [6, T] and the last equities [6, 9] by the readable parts."""
    robustness, growth, decay, cutout = parameters[6:10]
    steps = run(law.compute_steps)(close, growth, decay, cutout)
    lengths = [law.list_lengths(base, robustness) for base in parameters[:6]]
    signals = [run(law.compute_signals)(close, k, n, is_script) for k, n in enumerate(lengths)]
    votes, last = zip(
        *(run(law.compute_votes)(signal, steps, cutout) for signal in signals), strict=True
    )
    return np.array(votes), np.array([signal[:, -1] for signal in last])


@pytest.mark.parametrize("expected", LAW, ids=lambda line: f"{line['set']}-{line['series']}")
def test_rows_and_stages_are_those_of_the_law(expected, real_folder):
    """Whole series: the row, its classes, votes of the families, and all equities at the end."""
    close, run = load_series(expected, real_folder).close, CompiledForm()
    is_script = expected["set"] == "S"
    loop = law.adaptive_trend_script if is_script else law.adaptive_trend
    parameters = PARAMETERS[expected["set"]]
    row = run(loop)(close, *parameters)
    votes, last = compute_stages(close, parameters, is_script, run)
    classes = np.where(row > 0.1, 1, np.where(row < -0.1, -1, 0))[~np.isnan(row)]
    fields = {
        "bars": f"{len(row)}",
        "row": hashlib.sha256(row.tobytes()).hexdigest(),
        "last": ", ".join(map(repr, row[-5:].tolist())),
        "votes": hashlib.sha256(votes.astype(np.int8).tobytes()).hexdigest()[:32],
        "equities": hashlib.sha256(last.tobytes()).hexdigest()[:32],
        "long": f"{(classes == 1).sum()}",
        "neutral": f"{(classes == 0).sum()}",
        "short": f"{(classes == -1).sum()}",
        "changes": f"{(classes[1:] != classes[:-1]).sum()}",
    }
    if not is_script:
        fields |= {name: repr(float(last[k, 0])) for k, name in enumerate(law.FAMILIES)}
    assert fields.items() <= expected.items()
    assert not run.uncompiled


@pytest.mark.parametrize("device", BACKEND_PARAMETERS)
@pytest.mark.parametrize("expected", LAW, ids=lambda line: f"{line['set']}-{line['series']}")
def test_trades_are_those_of_the_law(expected, device, real_folder):
    """One window, 5 + 5 basis points: ledgers equal the reference's, sums the published ones."""
    strategy, bars = STRATEGIES[expected["set"]], load_series(expected, real_folder)
    windows, genome = [Window.whole(bars)], strategy.layout.defaults
    engine = Engine(strategy, [bars], windows, device=device)
    reference = Reference(strategy, [bars], windows, form=CompiledForm())
    (ledger,) = reference.trades(genome)
    actual = engine.evaluate(genome[None])[0, 0]
    assert not compare_ledgers(ledger, engine.trades(genome)[0])
    assert not compare_accumulators(reference.fold(ledger, genome), actual)
    sums = {key: actual[place] for key, place in ACCUMULATOR_INDEX.items()}
    counts = ("trades", "wins", "bars_in_market", "rejected")
    fields = {key: f"{sums[key]:.0f}" for key in counts}
    fields |= {key: repr(float(sums[key])) for key in ("sum_r", "max_drawdown_r", "equity")}
    fields["exits"] = "/".join(f"{sums[f'exits_{reason}']:.0f}" for reason in EXITS)
    assert fields.items() <= expected.items()
