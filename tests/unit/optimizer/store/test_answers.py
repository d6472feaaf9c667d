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


def test_a_member_whose_account_was_gone_is_no_answer():
    """However strong it is."""
    gone = {**member(2.0, a=1, b=1), "gone": "2020-01-01"}
    assert read_answer(HEADER, make_ended(gone, member(1.0, a=2, b=2)), None).strength == 1.0


def test_of_a_schedule_the_answer_is_that_of_the_account_of_all_steps():
    """Its growth a year counts from the first step to the last searched bar."""
    result = make_ended(member(9.0, a=1, b=1), samples=("in", "held out"))
    lasts = ("2024-12-31T12:00Z", "2030-01-01T00:00Z")
    for window, last in zip(result["data"]["windows"], lasts, strict=True):
        window["last"] = last
    account = {"strength": 1.5, "equity": 1.21, "trades": 7, "max_drawdown": 0.2}
    schedule = {**account, "rows": [{"date": "2023-01-01T00:00Z"}]}
    answer = read_answer(HEADER, result, {"schedule": schedule, "pick": {"strength": 3.0}})
    assert (answer.strength, answer.trades, answer.max_drawdown) == (1.5, 7, 0.2)
    assert (answer.total_return, answer.cagr) == pytest.approx((0.21, 0.1))


@pytest.mark.parametrize("odd", [None, "x", 5, [None], {"pick": 3}, float("inf")])
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
        ({"data": "A 15m, 1h"}, ()),
        ({"symbols": 3, "data": 4}, ()),
    ],
)
def test_a_run_without_a_result_names_its_symbols(header, symbols):
    """As in its header; one of an older version where it is one."""
    assert read_answer(header, None, None).symbols == symbols
