"""The law's check values, from an independent implementation, to the last digit."""

import pytest

from data import LoadOptions, load_bars
from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.reference import Reference
from strategy import STRATEGIES
from tests.support.backends import ENGINE_PARAMETERS
from tests.support.references import FORMS

SPEC = STRATEGIES["seller_exhaustion"]

CHECK_VALUES = {
    "uniusdt_15m": {
        "trades": 307,
        "wins": 111,
        "sum_r": -23.272423111499876,
        "sum_r2": 562.4895590298388,
        "gain_r": 184.80241123248368,
        "loss_r": 208.0748343439835,
        "max_drawdown_r": 36.48946691189325,
        "equity": 0.770495401558047,
        "max_drawdown": 0.31710407867282164,
        "bars_in_market": 9905,
        "rejected": 1,
    },
    "btcusdt_1h": {
        "trades": 265,
        "wins": 91,
        "sum_r": -37.62478142701711,
        "sum_r2": 408.23914658551564,
        "gain_r": 133.26342742536346,
        "loss_r": 170.8882088523805,
        "max_drawdown_r": 54.90206554902163,
        "equity": 0.6726127679864992,
        "max_drawdown": 0.4308299931471464,
        "bars_in_market": 10667,
        "rejected": 0,
    },
}


@pytest.mark.parametrize("engine_name", ENGINE_PARAMETERS)
@pytest.mark.parametrize("name", CHECK_VALUES)
def test_check_values_are_reproduced(name, engine_name, real_folder):
    """Published genes and costs on a real series give the law's own sums, digit for digit."""
    bars = load_bars(f"parquet:{real_folder / name}.parquet", LoadOptions(dedupe=True))
    windows = [Window.whole(bars)]
    genome = SPEC.layout.defaults
    if engine_name in FORMS:
        sums = Reference(SPEC, [bars], windows, form=FORMS[engine_name]).accumulators(genome)[0]
    else:
        sums = Engine(SPEC, [bars], windows, device=engine_name).evaluate(genome[None])[0, 0]
    actual = {key: sums[ACCUMULATOR_INDEX[key]].item() for key in CHECK_VALUES[name]}
    assert actual == CHECK_VALUES[name]
