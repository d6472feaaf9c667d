"""Words of genes: steps, choices and switches, and what of them is refused."""

import json

import numpy as np
import pytest

from strategy import words
from strategy.errors import GeneError
from strategy.expressions import Choose, Column
from strategy.gene import Gene
from strategy.model import from_described
from strategy.rows import bound
from strategy.words import (
    beyond_bar,
    choice,
    close,
    ema,
    gene,
    length,
    rma,
    sma,
    strategy,
    switch,
    true_range,
    volume,
    wma,
)

STOP = beyond_bar(rma(true_range, 3))


def make_averaged():
    """A strategy of a choice, a switch and a step."""
    average = choice("average", sma, ema, wma, default="ema")
    busy = switch("busy", volume > sma(volume, 30), default=False)
    above = close > average(close, length("n", 10, 5, 20))
    far = gene("far", 0.5, 0, 2, step=0.25)
    return strategy("Drawn.", long=above & busy, stop=beyond_bar((far + 1) * rma(true_range, 3)))


def test_a_choice_of_indicators_is_called_as_they_are():
    """Its row is one of theirs, that of the gene's number."""
    average = choice("average", sma, ema, wma, default="ema")
    tree = average(close, 10).tree
    assert isinstance(tree, Choose)
    assert repr(average(close, 10)) == "average(close, 10)"
    assert average(x=close, n=10).tree == tree
    assert tree.gene.gene == Gene("average", "int", 0, 2, 1, options=("sma", "ema", "wma"))
    rows = [bound(tree, {"average": number}) for number in range(3)]
    assert [row.indicator for row in rows] == ["sma", "ema", "wma"]
    assert {row.source for row in rows} == {Column("close")}


def test_the_warm_up_is_that_of_the_option():
    """And of conditions that are on."""
    slow = choice("average", words.dema, ema)(close, length("n", 10, 5, 20))
    busy = switch("busy", volume > sma(volume, 30))
    one = strategy("Warm.", long=(close > slow) & words.held(busy, 4), stop=STOP)
    genes = {"average": 0, "n": 10, "busy": 0}
    assert one.warm_up(genes) == 18
    assert one.warm_up(genes | {"average": 1}) == 9
    assert one.warm_up(genes | {"busy": 1}) == 29 + 3
    assert one.longest_reach(60 * 10**9) == 38
    # Also of an option that is neither first nor last.
    row = choice("average", sma, words.dema, ema)(close, 10)
    assert strategy("Warm.", long=close > row, stop=STOP).longest_reach(60 * 10**9) == 18


def test_a_record_is_read_back():
    """With options and steps, through JSON, and only where there are any."""
    one = make_averaged()
    described = json.loads(json.dumps(one.described))
    again = from_described(described)
    assert again.digest == one.digest
    assert again.long == one.long
    by_name = {gene["name"]: gene for gene in described["genes"]}
    assert by_name["average"]["options"] == ["sma", "ema", "wma"]
    assert by_name["far"]["step"] == 0.25
    assert not {"options", "step"} & by_name["n"].keys()


def test_options_are_given_and_shown_by_name():
    """A number stands for one as well."""
    layout = make_averaged().layout
    genome = layout.encode({"average": "wma", "busy": "on", "far": 0.75})
    assert dict(zip(layout.names, genome.tolist(), strict=True)) == {
        "average": 2.0, "n": 10.0, "busy": 1.0, "far": 0.75,
    }  # fmt: skip
    assert layout.show(genome) == {"average": "wma", "n": 10, "busy": "on", "far": 0.75}
    assert layout.encode(layout.decode(genome)).tolist() == genome.tolist()
    with pytest.raises(GeneError, match="did you mean 'ema'"):
        layout.encode({"average": "emu"})
    with pytest.raises(GeneError, match="got 3"):
        layout.encode({"average": 3})


@pytest.mark.parametrize(("low", "high", "step"), [(0, 0.3, 0.1), (-1, 1, 0.25), (1.1, 3.2, 0.7)])
def test_values_of_a_step_follow_from_one_arithmetic(low, high, step):
    """A product and a sum, each rounded once; the last value is the bound itself."""
    layout = strategy(
        "Stepped.", long=close > gene("x", low, low, high, step=step), stop=STOP
    ).layout
    count = round((high - low) / step)
    expected = [low + k * step for k in range(count)] + [high]
    steps = np.arange(count + 1.0)[:, None]
    assert layout.from_grid(steps)[:, 0].tolist() == expected
    assert layout.to_grid(layout.from_grid(steps)).tolist() == steps.tolist()
    legal, _ = layout.repair(np.array([[value + 0.4 * step] for value in expected]))
    assert legal[:, 0].tolist() == expected
    assert layout.repair(legal)[0].tolist() == legal.tolist()


def test_options_are_counted_round():
    """Each neighbour of an option is another one: of three every one is a step or two away."""
    layout = strategy("One.", long=close > choice("c", sma, ema, wma)(close, 3), stop=STOP).layout
    genomes = np.array([[0.0], [1.0], [2.0]])
    assert layout.move(genomes, np.array([1.0])).ravel().tolist() == [1.0, 2.0, 0.0]
    assert layout.move(genomes, np.array([-1.0])).ravel().tolist() == [2.0, 0.0, 1.0]
    moves = layout.axis_moves(np.array([1.0]))
    assert {*layout.move(genomes[:1], moves).ravel().tolist()} == {1.0, 2.0}
