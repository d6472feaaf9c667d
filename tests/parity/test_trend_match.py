"""The adaptive trend beside a plain program in the manner of its originals, ties level in both."""

import pytest

from data import LoadOptions, load_bars
from engine.trends import trends
from tests.bench.trend_match import shares
from tests.support.plain_trend import plain_trend
from tests.support.trend import A, S

FORMS = {"law": (A, False), "script": (S, True)}


def assert_all_match(close, form):
    """Every value, class and window."""
    parameters, is_script = FORMS[form]
    (law,) = trends([close], parameters, is_script=is_script)
    plain = plain_trend(close, parameters, order="window", has_ties=True, is_script=is_script)
    assert shares(law.row, plain) == (100.0, 100.0, 100.0)


@pytest.mark.parametrize("form", FORMS)
def test_the_sample_matches(form):
    """Prices on a grid, which averages meet."""
    assert_all_match(load_bars("sample").close[:12_000], form)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["aapl_1h", "bifiusdt_5m", "uniusdt_15m"])
def test_prices_that_repeat_match(name, form, real_folder):
    """Where two plain programs disagree on up to four of five windows, the tie rule is enough."""
    bars = load_bars(f"parquet:{real_folder / name}.parquet", LoadOptions(dedupe=True))
    assert_all_match(bars.close[-30_000:], form)
