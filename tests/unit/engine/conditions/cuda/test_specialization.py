"""A comparison gets a kernel of its own once that pays, and only where every bit is equal."""

import logging

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

import torch

from engine.conditions.cuda import specialization
from engine.conditions.cuda.specialization import CodedComparison, Comparing, Read

NOTHING = torch.zeros(1)

WORK = 4 * 100 * 3
"""Operations of one call: two a side, at 100 bars of three individuals."""


def comparison(relation=0):
    """Of two forms with two operations each."""
    return CodedComparison(NOTHING, (0, 3), (0, 3), relation)


@pytest.fixture
def calls(monkeypatch):
    """Kernels that were asked, in order; each writes its `bits`."""
    messages, bits = [], {"data": 5, "form": 5}

    def kernel(name):
        def decide(_comparison, _read, words):
            messages.append(name)
            words.fill_(bits[name])

        return decide

    monkeypatch.setattr(specialization, "_by_data", kernel("data"))
    monkeypatch.setattr(specialization, "_by_form", kernel("form"))
    monkeypatch.setattr(specialization, "PAYS_AFTER", 2 * WORK)
    told_of = type("Calls", (), {"bits": bits, "names": messages})
    return told_of


def decide_words(decider, asked):
    """The words of three individuals."""
    words = torch.zeros((3, 2), dtype=torch.int64)
    read = Read(*[NOTHING] * 5, members=torch.tensor([3, 0, 1, 2]), n_bars=100)
    decider.count(asked, 100, 3)
    decider.decide(asked, read, words)
    assert bool((words == 5).all())


def test_a_kernel_with_other_bits_is_told_and_not_used(calls, caplog):
    """Whatever a compiler does, the words are those of the law."""
    calls.bits["form"] = 4
    decider = Comparing()
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            decide_words(decider, comparison())
    assert calls.names == ["data", "data", "form", "data", "data", "data"]
    assert [record.message[:51] for record in caplog.records] == [
        "a comparison compiled for this GPU gives other bits"
    ]
