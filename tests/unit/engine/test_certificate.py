"""The certificate is green only when all agrees, and shows the rest; a bit is a difference."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.batch import Engine
from engine.replay import certificate, parity
from engine.replay.certificate import certify
from engine.replay.parity import compare_accumulators, compare_ledgers
from engine.runtime.compiling.forms import CompiledForm
from strategy.indicator_registry import KINDS
from tests.support.order_cases import CASES
from tests.support.references import compiled_reference
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(5, 600, jump=0.1)
WINDOWS = [Window.whole(BARS), Window(0, 100, 400)]
SAMPLED = parity.BARS
"""Of a person's certificate; others of this session replay fewer in plain Python."""


@pytest.fixture(autouse=True)
def whole_samples(monkeypatch):
    """Samples are those that a person gets."""
    monkeypatch.setattr(parity, "BARS", SAMPLED)


class WrongEngine(Engine):
    """An engine with a defect: one ulp in one price, or one sum, of one individual."""

    defect = "exit"

    def ledgers(self, genomes):
        """List trades, the first window's last one with a price a hair off."""
        for first, *rest in super().ledgers(genomes):
            if hasattr(first, self.defect) and len(first):
                column = getattr(first, self.defect).copy()
                column[-1] = np.nextafter(column[-1], np.inf) if column.dtype.kind == "f" else 0
                first = replace(first, **{self.defect: column})
            yield (first, *rest)

    def evaluate(self, genomes):
        """Evaluate, the first individual's sum a hair off."""
        values = super().evaluate(genomes)
        if self.defect == "sum_r":
            place = (0, 0, ACCUMULATOR_INDEX["sum_r"])
            values[place] = np.nextafter(values[place], np.inf)
        return values

    def evaluate_account(self, genomes):
        """Evaluate, the first account's fall a hair off."""
        values, account = super().evaluate_account(genomes)
        if self.defect == "max_drawdown":
            account[0, ACCUMULATOR_INDEX["max_drawdown"]] += 1e-15
        return values, account


def test_certificate_of_a_right_engine_is_green():
    """No mismatch, the reference's trades, some members in plain Python too; threads change none.

    Other individuals have another hash, the same ones the same.
    """
    genomes = random_genomes(SPEC, 40, seed=1)
    engine = Engine(SPEC, [BARS], WINDOWS)
    certificate = certify(engine, genomes)
    reference = compiled_reference(SPEC, [BARS], WINDOWS)
    trades = sum(len(ledger) for genome in genomes for ledger in reference.trades(genome))
    assert (certificate.individuals, certificate.windows, certificate.trades) == (40, 2, trades)
    assert (certificate.is_green, certificate.first_mismatch) == (True, "")
    assert certificate.data_hash == BARS.content_hash
    assert certificate.plain_individuals == parity.MEMBERS
    assert certificate.plain_bars == 2 * 600 + 2 * 300
    assert certificate.uncompiled == {}
    assert certify(engine, genomes, threads=5) == certificate
    assert certify(engine, genomes[::-1]).ledger_hash != certificate.ledger_hash


@pytest.mark.parametrize(
    "defect", ["exit", "exit_bar", "reason", "held", "last_stop", "r", "sum_r", "max_drawdown"]
)
def test_certificate_finds_the_smallest_defect(defect):
    """One ulp in a price, a sum or the account, or one wrong bar, turns the certificate red."""
    genomes = random_genomes(SPEC, 4, seed=1)
    engine = WrongEngine(SPEC, [BARS], WINDOWS)
    engine.defect = defect
    certificate = certify(engine, genomes)
    assert not certificate.is_green
    assert f"{defect} differs" in certificate.first_mismatch
    assert "genes: {'ema_fast'" in certificate.first_mismatch
    is_of_all = "all windows as one account" in certificate.first_mismatch
    assert is_of_all == (defect == "max_drawdown")


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
    assert red.mismatches == parity.MEMBERS
    assert "row atr_stop_mult * atr(atr_window) differs" in red.first_mismatch
    assert "genes: {'ema_fast'" in red.first_mismatch


COUNTS = ("rejected", "orders", "expired", "coarse")


def test_a_bit_of_any_column_and_any_count_is_a_difference():
    """Also of targets and sizes, which not every trade has."""
    case, bars = CASES["ladder"], make_bars(3, 3000, jump=0.05)
    engine = Engine(case.strategy, [bars], [Window.whole(bars)], case.costs, device="cpu")
    (ledger,) = engine.trades(case.strategy.layout.defaults)
    columns = ledger.columns()
    assert (
        compare_ledgers(ledger, replace(ledger, **{k: v.copy() for k, v in columns.items()})) == ""
    )
    changed = 0
    for name, column in columns.items():
        if column.size:
            other = column.copy()
            other.reshape(-1).view(np.uint8)[-1] ^= 1
            assert name in compare_ledgers(ledger, replace(ledger, **{name: other})), name
            changed += 1
    assert changed > 12
    for name in COUNTS:
        more = replace(ledger, **{name: getattr(ledger, name) + 1})
        assert name in compare_ledgers(ledger, more)
    message = compare_ledgers(ledger, ledger.keep(np.arange(len(ledger)) < len(ledger) - 1))
    assert f"{len(ledger)} trades, the engine {len(ledger) - 1}" in message
    zero = np.zeros(len(ACCUMULATORS))
    assert "sum_r" in compare_accumulators(zero, np.where(np.arange(len(zero)) == 2, -0.0, zero))
