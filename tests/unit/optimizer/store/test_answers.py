"""Numbers of a run's pick for lists, from records of any shape."""

import pytest

from optimizer.store.answers import RunAnswer, read_answer

HEADER = {"genes": [{"name": "b"}, {"name": "a"}]}


def member(strength, trades=(3, 5), **genes):
    """A member of a front with trades in two windows."""
    metrics = {"strength": strength, "total_return": 0.5, "trades": sum(trades) / len(trades)}
    return {"genes": genes, "metrics": metrics, "by_window": {"trades": [*trades]}}


def make_ended(*front, samples=("in", "in")):
    """What a run on two symbols ended with."""
    pairs = zip(("X", "Y"), samples, strict=True)
    windows = [{"symbol": symbol, "sample": sample} for symbol, sample in pairs]
    return {"data": {"windows": windows}, "front": [*front]}


def test_equal_strengths_are_decided_by_the_genome_in_the_order_of_the_header():
    """JSON has the names of genes sorted; the first gene of the header decides first."""
    front = (member(1.0, (1, 1), a=1, b=2), member(1.0, (2, 2), a=2, b=1), member(0.5, a=0, b=0))
    assert read_answer(HEADER, make_ended(*front), None) == RunAnswer(("X", "Y"), 1.0, 0.5, 4)


def test_trades_on_held_out_bars_are_not_counted():
    """What was searched is what the list is about."""
    answer = read_answer(
        HEADER, make_ended(member(1.0, a=1, b=1), samples=("in", "held out")), None
    )
    assert answer.trades == 3


def test_the_pick_of_a_judgement_is_another_than_the_strongest():
    """A person may have named it."""
    result = make_ended(member(2.0, a=1, b=1), member(1.0, a=2, b=2))
    judgement = {"pick": {"genes": {"a": 2, "b": 2}, "strength": 1.0, "trades": 8}}
    assert read_answer(HEADER, result, judgement) == RunAnswer(("X", "Y"), 1.0, 0.5, 8)


@pytest.mark.parametrize("odd", [None, True, "x", 5, [], {}, [None], {"pick": 3}, float("inf")])
def test_parts_of_another_shape_are_left_out(odd):
    """Records come from anywhere: no list of runs ends with one of them."""
    assert read_answer({"genes": odd}, {"data": odd, "front": odd}, {"pick": odd}) == RunAnswer()
    strange = {"genes": odd, "metrics": {"strength": odd, "total_return": odd}, "by_window": odd}
    answer = read_answer(HEADER, {"data": {"windows": odd}, "front": [strange]}, None)
    assert (answer.symbols, answer.total_return) == ((), 5.0 if odd == 5 else None)


@pytest.mark.parametrize(
    ("header", "symbols"),
    [
        ({"symbols": ["A", "B"], "data": "2 symbols 15m"}, ("A", "B")),
        ({"data": "BTC/USDT 15m"}, ("BTC/USDT",)),
        ({"data": "2 symbols 15m"}, ()),
        ({"data": "A 15m, 1h"}, ()),
        ({"data": "sample"}, ()),
        ({"symbols": 3, "data": 4}, ()),
        ({}, ()),
    ],
)
def test_a_run_without_a_result_names_its_symbols(header, symbols):
    """As in its header; one of an older version where it is one."""
    assert read_answer(header, None, None).symbols == symbols
