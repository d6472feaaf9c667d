"""The certificate is green only when everything agrees, and shows what does not."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.batch import Engine
from engine.reference import Reference
from engine.replay import certificate, sample
from engine.replay.certificate import certify
from engine.replay.parity import compare_accumulators, compare_ledgers
from engine.runtime.compiling.forms import CompiledForm
from strategy.indicator_registry import KINDS
from strategy.indicators.ema import ema
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(5, 600, jump=0.1)
WINDOWS = [Window.whole(BARS), Window(0, 100, 400)]


class WrongEngine(Engine):
    """An engine with a defect: one ulp in one price, or one sum, of one individual."""

    defect = "exit"

    def ledgers(self, genomes):
        """List trades, the first window's last one with a price a hair off."""
        for first, *rest in super().ledgers(genomes):
            if self.defect != "sum_r" and len(first):
                column = getattr(first, self.defect).copy()
                column[-1] = np.nextafter(column[-1], np.inf) if column.dtype.kind == "f" else 0
                first = dataclasses.replace(first, **{self.defect: column})
            yield (first, *rest)

    def evaluate(self, genomes):
        """Evaluate, the first individual's sum a hair off."""
        values = super().evaluate(genomes)
        if self.defect == "sum_r":
            place = (0, 0, ACCUMULATOR_INDEX["sum_r"])
            values[place] = np.nextafter(values[place], np.inf)
        return values


def test_certificate_of_a_right_engine_is_green():
    """No mismatch, and the trades are the reference's."""
    genomes = random_genomes(SPEC, 6, seed=1)
    certificate = certify(Engine(SPEC, [BARS], WINDOWS), genomes)
    reference = Reference(SPEC, [BARS], WINDOWS)
    trades = sum(len(ledger) for genome in genomes for ledger in reference.trades(genome))
    assert (certificate.individuals, certificate.windows, certificate.trades) == (6, 2, trades)
    assert certificate.is_green
    assert certificate.first_mismatch == ""
    assert certificate.data_hash == BARS.content_hash


@pytest.mark.parametrize("defect", ["exit", "exit_bar", "reason", "r", "sum_r"])
def test_certificate_finds_the_smallest_defect(defect):
    """One ulp in a price or a sum, or one wrong bar, turns the certificate red."""
    genomes = random_genomes(SPEC, 4, seed=1)
    engine = WrongEngine(SPEC, [BARS], WINDOWS)
    engine.defect = defect
    certificate = certify(engine, genomes)
    assert not certificate.is_green
    assert f"{defect} differs" in certificate.first_mismatch
    assert "genes: {'ema_fast'" in certificate.first_mismatch


def test_ledger_hash_tells_ledgers_apart():
    """Other individuals, another hash; the same ones, the same hash."""
    engine = Engine(SPEC, [BARS], WINDOWS)
    genomes = random_genomes(SPEC, 4, seed=1)
    first = certify(engine, genomes).ledger_hash
    assert certify(engine, genomes).ledger_hash == first
    assert certify(engine, random_genomes(SPEC, 4, seed=2)).ledger_hash != first


def test_some_are_replayed_in_plain_python_too():
    """The certificate counts members replayed, of all, and their bars."""
    certificate = certify(Engine(SPEC, [BARS], WINDOWS), random_genomes(SPEC, 40, seed=1))
    assert (certificate.individuals, certificate.plain_individuals) == (40, sample.MEMBERS)
    assert certificate.plain_bars == 2 * 600 + 2 * 300
    assert certificate.uncompiled == {}


def test_a_form_that_differs_from_plain_python_is_red(monkeypatch):
    """Also where no trade shows it, so that the engines seem to agree."""

    class WrongForm(CompiledForm):
        def __call__(self, loop):
            right = super().__call__(loop)
            if loop is not KINDS["atr"].loop:
                return right
            # The last bar of a row is never read.
            return lambda values, length: np.append(right(values, length)[:-1], 1.0)

    monkeypatch.setattr(certificate, "CompiledForm", WrongForm)
    red = certify(Engine(SPEC, [BARS], WINDOWS), random_genomes(SPEC, 6, seed=1))
    assert red.mismatches == sample.MEMBERS
    where = "individual 0, window 0: the reference in plain Python and compiled: "
    assert red.first_mismatch.startswith(f"{where}row atr_stop_mult * atr(atr_window) differs")
    assert "genes: {'ema_fast'" in red.first_mismatch


def test_what_cannot_be_compiled_is_replayed_as_it_reads(monkeypatch, caplog):
    """That row only; the certificate and the log say which, and why."""

    def own_ema(values, span):
        whole = float(Fraction(span))
        return ema(values, whole) if whole > 1e9 else ema(values, span)

    own = dataclasses.replace(KINDS["ema"], loop=own_ema)
    monkeypatch.setitem(KINDS, "ema", own)
    certificate = certify(Engine(SPEC, [BARS], WINDOWS), random_genomes(SPEC, 6, seed=1), threads=2)
    assert certificate.is_green
    assert certificate.trades > 0
    (why,) = (certificate.uncompiled.pop(name) for name in ["own_ema"])
    assert "Fraction" in why
    assert certificate.uncompiled == {}
    assert "own_ema runs in plain Python, numba cannot compile it" in caplog.text


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_change_nothing(threads):
    """Replayed in several threads, the certificate is the same."""
    engine = Engine(SPEC, [BARS], WINDOWS)
    genomes = random_genomes(SPEC, 40, seed=3)
    assert certify(engine, genomes, threads=threads) == certify(engine, genomes, threads=1)


def test_missing_trade_is_described():
    """A trade that only one engine has is shown."""
    (ledger, _) = Reference(SPEC, [BARS], WINDOWS).trades(random_genomes(SPEC, 9, seed=1)[8])
    columns = {name: column[:-1] for name, column in ledger.columns().items()}
    shorter = dataclasses.replace(ledger, **columns)
    assert len(ledger) > 0
    message = compare_ledgers(ledger, shorter)
    assert f"the reference has {len(ledger)} trades, the engine {len(ledger) - 1}" in message
    assert "signal_bar=" in message


def test_rejections_are_compared():
    """Equal trades with another count of rejected signals are a difference."""
    (ledger, _) = Reference(SPEC, [BARS], WINDOWS).trades(SPEC.layout.defaults)
    other = dataclasses.replace(ledger, rejected=ledger.rejected + 1)
    assert "rejected differ" in compare_ledgers(ledger, other)


def test_negative_zero_is_a_difference():
    """Equal to the eye is not equal in every bit."""
    zero = np.zeros(len(ACCUMULATORS))
    other = zero.copy()
    other[2] = -0.0
    assert compare_accumulators(zero, other).startswith("accumulator sum_r differs")
