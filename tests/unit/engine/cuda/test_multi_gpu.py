"""A population split over devices, with CPU backends in the devices' place."""

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from data.bars import Window
from engine.batch import Engine
from engine.cpu import CpuBackend
from engine.cuda import SeveralGpus
from engine.devices import Device
from tests.support.parity import assert_same_accounts, assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(5, 400, jump=0.1)
WINDOWS = [Window.whole(BARS), Window(0, 100, 300)]


class Counting(CpuBackend):
    """A part that remembers how many individuals it was given."""

    def begin(self, sent, slots):
        """As the backend does."""
        if slots is not None:
            self.seen = len(sent.genomes)
        return super().begin(sent, slots)


@pytest.fixture
def split():
    """Make an engine whose backend is split into parts; gives both."""

    def make_parts(n_parts, fewest):
        parts = []

        class Maker(CpuBackend):
            def __new__(cls, *arguments, **options):
                parts.extend(Counting(*arguments, **options) for _ in range(n_parts))
                return SeveralGpus(parts, fewest=fewest)

        device = Device("several", "a test", Maker)
        return Engine(SPEC, [BARS], WINDOWS, device=device, threads=1), parts

    return make_parts


def assert_same_engines(alone, several, genomes):
    """Accumulators, accounts, ledgers and signals."""
    assert_same_bits(alone.evaluate(genomes), several.evaluate(genomes), "parts")
    assert_same_accounts(alone, several, genomes)
    for expected, actual in zip(alone.trades(genomes[0]), several.trades(genomes[0]), strict=True):
        assert_same_bits(expected.r, actual.r, "ledger")
    for expected, actual in zip(
        alone.signals(genomes[0]), several.signals(genomes[0]), strict=True
    ):
        assert_same_bits(expected, actual, "signals")


@pytest.mark.parametrize(("n_parts", "size"), [(3, 2), (2, 50)])
def test_split_changes_no_bit(split, n_parts, size):
    """Results come back in the order of individuals, from any device."""
    several, _ = split(n_parts, fewest=1)
    alone = Engine(SPEC, [BARS], WINDOWS, device="cpu")
    assert_same_engines(alone, several, random_genomes(SPEC, size, seed=size))
