"""An indicator of one's own: what it may be, what it may say, and how it is told apart."""

import dataclasses
import math
from functools import partial

import numpy as np
import pytest

from strategy import Indicator, Parameter, Row, StrategyError
from strategy.errors import IndicatorError
from strategy.functions import text_digest
from strategy.indicators import INDICATORS
from tests.support.own import BARS, DRIFT, LATE, LISTED, MIXED, drift

CLOSE = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
HALF = 0.5


def as_it_is(loop):
    """The form of plain Python."""
    return loop


def halved(values):
    """Reads a constant beside it, and calls another function."""
    return tripled(values) * HALF


def tripled(values):
    """Called by another one."""
    return values * 3.0


def own(loop, *parameters, warm_up=lambda *_: 0):
    """An indicator of one's own."""
    return Indicator("own", loop, parameters, warm_up)


def test_whole_parameters_arrive_as_int_and_others_as_float():
    """Whatever the key's numbers are; a zero has no sign."""
    found = DRIFT.arguments((3.0, 1))
    assert (found, [type(value) for value in found]) == ((3, 1.0), [int, float])
    assert math.copysign(1.0, DRIFT.arguments((3.0, -0.0))[1]) == 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((0.0, 0.5), "needs bars whole and at least 1, got 0"),
        ((2.5, 0.5), "needs bars whole and at least 1, got 2.5"),
        ((2.0, -0.5), "needs weight at least 0, got -0.5"),
        ((2.0, math.nan), "needs weight at least 0, got nan"),
        ((2.0, math.inf), "needs weight at least 0, got inf"),
    ],
)
def test_illegal_parameters_are_refused(parameters, message):
    """By indicator, parameter and value."""
    with pytest.raises(IndicatorError, match=message):
        DRIFT.arguments(parameters)


def test_what_is_said_before_the_warm_up_is_unknown():
    """And a series no longer than that is never shown to the definition."""
    late = own(lambda values: values, warm_up=lambda: 2)
    found = late.row(CLOSE, (), as_it_is)
    np.testing.assert_array_equal(found, [np.nan, np.nan, 4.0, 8.0, 16.0])
    assert CLOSE[0] == 1.0
    never = own(lambda values: 1 / 0, warm_up=lambda: 5)
    assert np.isnan(never.row(CLOSE, (), as_it_is)).all()


def fails(values, bars):
    """Divides by nothing."""
    raise ZeroDivisionError("no bars")


def writes(values, bars):
    """Changes what it reads."""
    values[0] = 0.0
    return values


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        (lambda values, bars: np.where(values == 4.0, np.inf, values), "is infinite at bar 2"),
        (lambda values, bars: values[1:], r"must return 5 values of float64.*float64 \(4,\)"),
        (lambda values, bars: 1.0, r"must return 5 values of float64.*got float64 \(\)"),
        (lambda values, bars: values.astype(np.float32), "got float32"),
        (lambda values, bars: None, "got object"),
        (fails, "failed: ZeroDivisionError: no bars"),
        (writes, "failed: ValueError: .*read-only"),
    ],
)
def test_what_is_no_row_is_refused(loop, message):
    """By indicator and parameters."""
    values = CLOSE.copy()
    values.flags.writeable = False
    with pytest.raises(IndicatorError, match=r"own\(bars=2\) .*" + message):
        own(loop, BARS).row(values, (2.0,), as_it_is)


@pytest.mark.parametrize("warm_up", [-1, 0.5, None])
def test_a_warm_up_is_a_number_of_bars(warm_up):
    """Whole, and not below 0."""
    with pytest.raises(IndicatorError, match=r"own\(\): its warm-up must be whole"):
        own(lambda values: values, warm_up=lambda: warm_up).warm_up_of(())


def test_a_definition_is_a_plain_function():
    """Nothing else has a text, or can be compiled."""
    with pytest.raises(IndicatorError, match="its definition must be a plain function"):
        own(partial(drift, bars=2))
    with pytest.raises(IndicatorError, match="its warm-up must be a plain function"):
        own(drift, warm_up=max)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((0, 0.5), "bars must be a gene, or a number that is whole and at least 1, got 0"),
        ((1.5, 0.5), "bars must be a gene, or a number that is whole"),
        ((True, 0.5), "bars must be a gene, or a number that is whole and at least 1, got True"),
        ((2, math.nan), "weight must be a gene, or a number that is at least 0, got nan"),
        ((2,), "drift takes 2 parameters, got 1"),
    ],
)
def test_constants_are_checked_where_they_are_written(parameters, message):
    """By row and parameter."""
    with pytest.raises(StrategyError, match=f"row 'x': .*{message}"):
        Row("x", DRIFT, "close", parameters)


def test_a_float_gene_is_legal_only_where_the_parameter_need_not_be_whole():
    """And nowhere below what the parameter needs."""
    wrong = Row("odd", "sma", "close", ("weight",))
    with pytest.raises(StrategyError, match="gene 'weight' must be whole and at least 2 for sma"):
        dataclasses.replace(MIXED, rows=(*MIXED.rows, wrong))
    strict = dataclasses.replace(DRIFT, parameters=(BARS, Parameter("weight", 0.1, False)))
    rows = tuple(
        dataclasses.replace(row, indicator=strict) if row.indicator == DRIFT else row
        for row in MIXED.rows
    )
    with pytest.raises(StrategyError, match=r"gene 'weight' must be at least 0\.1 for drift"):
        dataclasses.replace(MIXED, rows=rows)


def test_names_stand_for_one_indicator():
    """One of the shipped ones, or one of one's own."""
    with pytest.raises(StrategyError, match="there is an indicator 'ema' already"):
        Row("x", dataclasses.replace(LATE, name="ema"), "close", (3,))
    assert Row("x", INDICATORS["ema"], "close", (3,)).kind is INDICATORS["ema"]
    other = Row("x", dataclasses.replace(LATE, name="drift"), "close", (3,))
    with pytest.raises(StrategyError, match="two indicators are named 'drift'"):
        dataclasses.replace(MIXED, rows=(*MIXED.rows, other))


def test_warm_up_is_the_longest_of_all_rows():
    """Of constants too, and of rows that only the stop reads."""
    genes = MIXED.layout.decode(MIXED.layout.defaults)
    assert MIXED.warm_up(genes | {"bars": 4}) == 12
    assert MIXED.warm_up(genes | {"bars": 2, "slow": 25}) == 24
    assert LISTED.warm_up({"bars": 2}) == 18


def with_drift(**changes):
    """The digest of a strategy whose own indicator is another one."""
    changed = dataclasses.replace(DRIFT, **changes)
    rows = tuple(
        dataclasses.replace(row, indicator=changed) if row.indicator == DRIFT else row
        for row in MIXED.rows
    )
    return dataclasses.replace(MIXED, rows=rows).digest


def test_a_strategy_is_told_apart_by_its_definitions():
    """By their text, what they call, and the warm-up's."""

    def other(values, bars, weight):
        return values

    assert with_drift() == MIXED.digest
    digests = {
        MIXED.digest,
        with_drift(loop=other),
        with_drift(warm_up=lambda bars, weight: bars + 1),
        with_drift(parameters=(BARS, Parameter("weight", 0.01, False))),
    }
    assert len(digests) == 4


def test_the_digest_of_a_definition_holds_what_it_calls(monkeypatch):
    """Constants and functions of functions; not those of libraries."""
    before = text_digest(halved)
    assert text_digest(halved) == before
    monkeypatch.setattr(f"{__name__}.HALF", 0.25)
    other = text_digest(halved)
    monkeypatch.setattr(f"{__name__}.tripled", lambda values: values)
    assert len({before, other, text_digest(halved)}) == 3


def test_a_definition_that_was_typed_in_has_a_digest_too():
    """Where there is no text, its instructions tell it apart."""
    made = {}
    for factor in (2, 3):
        namespace = {"__name__": "typed"}
        code = compile(f"def f(x):\n    return {factor} * x", "<nowhere>", "exec")
        function = type(halved)(code.co_consts[0], namespace)
        made[factor] = text_digest(function)
    assert made[2] != made[3]
