"""The law's check values, from independent implementations, to the last digit.

Real series as one window, 5 + 5 basis points, genes at their defaults: the readable law, each
backend, and all that the engine lists.
"""

import csv
import hashlib
from pathlib import Path

import numpy as np
import pytest

from data import LoadOptions, Window, load_bars
from engine.accounts.ledger import ACCUMULATOR_INDEX, COUNTED_REASONS
from engine.batch import Engine
from engine.runtime.compiling.forms import CompiledForm
from strategy import STRATEGIES
from strategy.indicators import adaptive_trend as law
from tests.support import examples, trend
from tests.support.order_cases import CASES
from tests.support.parity import both
from tests.support.references import BACKEND_PARAMETERS
from tests.support.series import make_coarse


def read_table(name):
    """Lines of a table beside this file."""
    return list(csv.DictReader(Path(__file__).with_name(name).read_text().splitlines()))


LANGUAGE, ORDERS, TRENDS = map(
    read_table, ("language_values.csv", "order_values.csv", "trend_values.csv")
)

SHIPPED = (
    {"series": "uniusdt_15m", "trades": 307, "wins": 111, "sum_r": -23.272423111499876,
     "sum_r2": 562.4895590298388, "gain_r": 184.80241123248368, "loss_r": 208.0748343439835,
     "max_drawdown_r": 36.48946691189325, "equity": 0.770495401558047,
     "max_drawdown": 0.31710407867282164, "bars_in_market": 9905, "rejected": 1},
    {"series": "btcusdt_1h", "trades": 265, "wins": 91, "sum_r": -37.62478142701711,
     "sum_r2": 408.23914658551564, "gain_r": 133.26342742536346, "loss_r": 170.8882088523805,
     "max_drawdown_r": 54.90206554902163, "equity": 0.6726127679864992,
     "max_drawdown": 0.4308299931471464, "bars_in_market": 10667, "rejected": 0},
)  # fmt: skip
"""Of seller exhaustion."""

REASONS = {
    "exits": COUNTED_REASONS[:-1],
    "reasons": COUNTED_REASONS,
    "trend exits": ("signal", "stop_gap", "stop", "target", "time", "end"),
}
"""Counts of a column, by reason of exit."""


def load_series(name, folder):
    """Bars of a real series, exact duplicates dropped."""
    return load_bars(f"parquet:{folder / name}.parquet", LoadOptions(dedupe=True))


def assert_check_values(strategy, bars, line, device, costs=None, exits="exits"):
    """A line's numbers, on a device whose ledgers, sums and signals are the law's."""
    windows, genome = [Window.whole(bars)], strategy.layout.defaults
    assert both(strategy, [bars], windows, genome[None], costs, device=device) == ""
    (sums,) = Engine(strategy, [bars], windows, costs, device=device).evaluate(genome[None])[0]
    found = {name: sums[place].item() for name, place in ACCUMULATOR_INDEX.items()}
    counts = {column: "/".join(f"{found[f'exits_{reason}']:.0f}" for reason in reasons)
              for column, reasons in REASONS.items()}  # fmt: skip
    found["longs"] = found["trades"] - found["shorts"]
    expected = {name: float(value) for name, value in line.items() if name in found}
    assert {name: found[name] for name in expected} == expected
    assert line.get("exits", line.get("reasons", counts[exits])) == counts[exits]


@pytest.mark.parametrize("device_name", BACKEND_PARAMETERS)
@pytest.mark.parametrize("line", SHIPPED, ids=lambda line: line["series"])
def test_a_shipped_strategy(line, device_name, real_folder):
    """Published genes and costs."""
    bars = load_series(line["series"], real_folder)
    assert_check_values(STRATEGIES["seller_exhaustion"], bars, line, device_name)


@pytest.mark.parametrize("line", LANGUAGE, ids=lambda line: "{strategy}-{series}".format(**line))
def test_strategies_in_words(line, real_folder):
    """Every way to leave a position."""
    bars = load_series(line["series"], real_folder)
    assert_check_values(getattr(examples, line["strategy"].upper()), bars, line, "cpu")


@pytest.mark.parametrize("device_name", BACKEND_PARAMETERS)
@pytest.mark.parametrize("line", ORDERS, ids=lambda line: line["strategy"])
def test_orders_ladders_and_money(line, device_name, real_folder):
    """Each with series and costs of its own."""
    case = CASES[line["strategy"]]
    bars = load_series(case.series, real_folder)
    bars = make_coarse(bars) if case.is_finer else bars
    assert_check_values(case.strategy, bars, line, device_name, case.costs, "reasons")


def name_trend(line):
    """Set of parameters and series."""
    return f"{line['set']}-{line['series']}"


@pytest.mark.parametrize("device_name", BACKEND_PARAMETERS)
@pytest.mark.parametrize("line", TRENDS, ids=name_trend)
def test_trades_of_adaptive_trends(line, device_name, real_folder):
    """Exits by signal, stop_gap, stop, target, time and end."""
    bars = load_series(line["series"], real_folder)
    sums = {name: value for name, value in line.items() if name not in law.FAMILIES}
    strategy = trend.STRATEGIES[line["set"]]
    assert_check_values(strategy, bars, sums, device_name, exits="trend exits")


@pytest.mark.parametrize("line", TRENDS[::3], ids=name_trend)
def test_rows_of_adaptive_trends(line, real_folder):
    """The row, its classes, votes of the families, and all equities at the end."""
    close, run = load_series(line["series"], real_folder).close, CompiledForm()
    is_script, parameters = line["set"] == "S", trend.PARAMETERS[line["set"]]
    loop = law.adaptive_trend_script if is_script else law.adaptive_trend
    row = run(loop)(close, *parameters)
    robustness, growth, decay, cutout = parameters[6:10]
    steps = run(law.compute_steps)(close, growth, decay, cutout)
    lengths = [law.list_lengths(base, robustness) for base in parameters[:6]]
    signals = [run(law.compute_signals)(close, k, n, is_script) for k, n in enumerate(lengths)]
    voted = [run(law.compute_votes)(signal, steps, cutout) for signal in signals]
    votes = np.array([vote for vote, _ in voted])
    last = np.array([equities[:, -1] for _, equities in voted])
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
    assert fields.items() <= line.items()
    assert not run.uncompiled
