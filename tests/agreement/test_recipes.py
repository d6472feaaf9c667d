"""Recipes of docs/howto/recipes.md, as they are copied from it, beside what other programs say."""

from doctest import DocTestParser

import pytest
import talib

from strategy.language import Claim
from strategy.rows import bound
from strategy.words import last_known
from tests.agreement.test_chart_values import VALUES
from tests.agreement.test_talib import CASES, SERIES, find_case, read_series
from tests.agreement.test_trade_lists import TradeList, compare
from tests.support.agreement import (
    compute_row,
    measure_distance,
    read_published_bars,
)
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def recipes():
    """What the page defines."""
    text = (ROOT / "docs" / "howto" / "recipes.md").read_text(encoding="utf-8")
    made = {}
    for example in DocTestParser().get_examples(text):
        exec(example.source, made)
    return made


def test_rows_of_recipes_are_those_that_are_compared(recipes):
    """The same trees as in the suites."""
    charts = {column: row for part in VALUES.values() for column, (row, _) in part.items()}
    slow_k, slow_d = (case.row for case in CASES if case.function == "STOCH")
    compared = {
        "resistance": last_known(charts["ta.pivothigh(10, 5)"]),
        "support": last_known(charts["ta.pivotlow(10, 5)"]),
        "pivot": charts["P_trad"],
        "first_resistance": charts["R1_trad"],
        "first_support": charts["S1_trad"],
        "second_resistance": charts["R2_trad"],
        "second_support": charts["S2_trad"],
        "camarilla_resistance": charts["R4_cam"],
        "adx_17_14": charts["ta.dmi(17, 14).adx"],
        "swma": charts["ta.swma(hlc3)"],
        "ppo": find_case("PPO").row,
        "natr": find_case("NATR").row,
        "slow_k": slow_k,
        "slow_d": slow_d,
    }
    assert {name: recipes[name].tree == row.tree for name, row in compared.items()} == (
        dict.fromkeys(compared, True)
    )


def test_aroon_of_the_page_is_that_of_talib(recipes, real_folder):
    """An indicator of one's own, to the last digits."""
    bars = read_series(real_folder, SERIES[0])
    down, up = talib.AROON(bars.high, bars.low, 14)
    assert measure_distance(compute_row(recipes["aroon_up"](14), bars), up) <= 1e-14
    assert measure_distance(compute_row(recipes["aroon_down"](14), bars), down) <= 1e-14
    oscillator = talib.AROONOSC(bars.high, bars.low, 14)
    assert measure_distance(compute_row(recipes["aroon_oscillator"], bars), oscillator) <= 1e-13


def test_supertrend_of_the_page_trades_as_on_the_chart(recipes, agree_folder, tmp_path):
    """With the genes at their defaults; its nearer stop is not met either."""
    bars = read_published_bars(agree_folder / "ohlcv.csv", tmp_path)
    published = TradeList("supertrend", recipes["SUPERTREND"])
    assert compare(published, agree_folder, bars, "cpu") == (602, 602, 0)


CONDITIONS = (
    "turned_up", "broke_out", "squeeze", "released", "is_out", "is_above_cloud", "crossed",
    "is_lagging_line_above", "is_green", "is_strong", "is_breakout", "is_backed", "is_young",
    "asked_then",
)  # fmt: skip


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_of_a_recipe_holds_now_and_then(recipes, name, real_folder):
    """At some bars of a real series, and not at most of them where it is an event."""
    condition = bound(recipes[name].tree, {"n": 10, "factor": 30, "channel": 20})
    bars = read_series(real_folder, SERIES[0])
    holds = compute_row(Claim(condition), bars)
    assert 0.001 < holds.mean() < 0.7
