"""Rows by their definitions: on one thread or several, once each, and refused by name."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from data.bars import Window
from engine.batch import Engine
from engine.contract import Form, RowRequest
from engine.errors import EngineError
from engine.memory_plan import REAL_ROWS, most_rows
from engine.rows.defined import Definitions
from engine.rows.plan import only_columns, plan_rows
from strategy import Row
from strategy.errors import IndicatorError
from tests.support.own import DRIFT, LISTED, MIXED, drift
from tests.support.parity import assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SERIES = [make_bars(1, 300), make_bars(2, 90)]
WINDOWS = [Window.whole(bars, number) for number, bars in enumerate(SERIES)]
FORM = Form("drift", "close")
KEYS = np.array([[bars, weight] for bars in (1.0, 7.0, 90.0, 400.0) for weight in (0.25, 0.5)])


def requests(*forms):
    """The same keys of each form, slot after slot."""
    return [
        RowRequest(form, KEYS, np.arange(n * len(KEYS), (n + 1) * len(KEYS)))
        for n, form in enumerate(forms)
    ]


def refusing(values, bars, weight):
    """Refuses one of many rows."""
    if weight == 0.5:
        raise ValueError("a half")
    return values.copy()


def with_drift(loop):
    """A strategy whose own indicator has another definition."""
    changed = dataclasses.replace(DRIFT, loop=loop)
    rows = tuple(
        dataclasses.replace(row, indicator=changed) if row.indicator == DRIFT else row
        for row in MIXED.rows
    )
    return dataclasses.replace(MIXED, rows=rows)


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_those_of_the_definition(threads):
    """Each in its slot and series, in the order in which they were asked for."""
    found = list(Definitions(MIXED, SERIES, threads).compute(requests(FORM)))
    assert [row[:2] for row in found] == [(k, s) for k in range(len(KEYS)) for s in range(2)]
    for slot, series, values in found:
        bars, weight = KEYS[slot].tolist()
        assert_same_bits(drift(SERIES[series].close, int(bars), weight), values, KEYS[slot])


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_inside_names_indicator_and_parameters(threads):
    """Wherever it ran; nothing is left running."""
    definitions = Definitions(with_drift(refusing), SERIES, threads)
    with pytest.raises(IndicatorError, match=r"drift\(bars=1, weight=0.5\) failed: ValueError: a"):
        list(definitions.compute(requests(FORM)))


def test_devices_that_share_definitions_compute_each_row_once():
    """Side by side and at their own pace; whoever asks once more has it computed again."""
    calls = []

    def counted(values, bars, weight):
        calls.append(bars)
        return drift(values, bars, weight)

    definitions = Definitions(with_drift(counted), SERIES, 2, readers=2)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(lambda: list(definitions.compute(requests(FORM)))) for _ in range(2)]
        first, second = (one.result() for one in asked)
    once = len(calls)
    assert once == len([row for row in first if not np.isnan(row[2]).all()])
    for one, other in zip(first, second, strict=True):
        assert one[:2] == other[:2]
        assert_same_bits(one[2], other[2], one[:2])
    list(definitions.compute(requests(FORM)))
    assert len(calls) == 2 * once


def test_warm_ups_are_those_of_the_rows():
    """By slot, no longer than matters; none for what the strategy does not read."""
    definitions = Definitions(MIXED, SERIES, 1)
    slots, bars = definitions.warm_ups(requests(FORM, Form("zscore", "open")), 300)
    assert slots.tolist() == list(range(2 * len(KEYS)))
    assert bars.tolist() == [1, 1, 7, 7, 90, 90, 300, 300] + [0] * len(KEYS)


def test_an_indicator_that_nobody_defined_is_refused():
    """By name."""
    with pytest.raises(EngineError, match="the strategy has no indicator 'nothing'"):
        list(Definitions(MIXED, SERIES, 1).compute(requests(Form("nothing", "close"))))


def test_an_engine_whose_definition_fails_says_so_and_goes_on(device):
    """A population that needs no such row is evaluated after one that does."""
    engine = Engine(with_drift(refusing), SERIES, WINDOWS, device=device)
    genomes = random_genomes(MIXED, 3, seed=1)
    expected = engine.evaluate(genomes)
    wrong = genomes.copy()
    wrong[2, MIXED.layout.index("weight")] = 0.5
    for _ in range(2):
        with pytest.raises(IndicatorError, match=r"weight=0.5\) failed"):
            engine.evaluate(wrong)
    assert_same_bits(expected, engine.evaluate(genomes), "afterwards")


def test_rows_are_found_in_tables_where_all_have_one_whole_parameter():
    """A constant is a place too; two parameters, or a real one, have none."""
    index = LISTED.layout.index("bars")
    assert only_columns(LISTED).tolist() == [index, -6, index, -7]
    assert only_columns(MIXED) is None
    real = dataclasses.replace(MIXED, rows=(*MIXED.rows, Row("odd", DRIFT, "open", (2, "weight"))))
    assert only_columns(real) is None
    assert only_columns(SHORT_SPECS["seller_exhaustion"]).tolist() == [0, 1, 2, 2, -1, 3]


def test_plan_tells_keys_apart_and_joins_equal_ones():
    """Nearly equal floats are two rows, a zero of either sign is one."""
    genomes = np.tile(MIXED.layout.defaults, (4, 1))
    weight = MIXED.layout.index("weight")
    genomes[:, weight] = [0.3, np.nextafter(0.3, 1.0), 0.0, -0.0]
    plan = plan_rows(MIXED, genomes)
    drifts = plan.row_of[:, MIXED.row_index["drift"]].tolist()
    assert len(set(drifts)) == 3
    assert drifts[2] == drifts[3]
    calm = plan.row_of[:, MIXED.row_index["calm"]].tolist()
    assert len(set(calm)) == 1


def test_countless_rows_are_bounded():
    """One for each constant, all of a whole gene, and so many for a real one."""
    assert most_rows(LISTED) == 11 + 1 + 11 + 1
    assert most_rows(MIXED) == 1 + REAL_ROWS + 1 + 23 + 1 + 11
