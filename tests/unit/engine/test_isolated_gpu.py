"""A real GPU that meets an illegal address: another process goes on, with the same bits."""

import sys

import pytest

from data.bars import Window
from engine.backends import why_absent
from engine.backends.chosen import Device
from engine.backends.isolated import IsolatedMaker
from engine.batch import Engine
from engine.parity import certify
from tests.support.parity import assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(7, 500, jump=0.1)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(why_absent("cuda")), reason=f"no cuda device: {why_absent('cuda')}"),
]


def test_an_illegal_address_costs_no_bit(tmp_path, caplog):
    """The third and the fourth evaluation break the device; both are made again elsewhere."""
    module = "tests.support.faulty_gpu_child"
    command = [sys.executable, "-m", module, "3,5", str(tmp_path / "calls")]
    device = Device("cuda:0", "a test", IsolatedMaker("cuda", (0,), command=command))
    windows = [Window.whole(BARS)]
    engine = Engine(SPEC, [BARS], windows, device=device, memory_bytes=2**30)
    alone = Engine(SPEC, [BARS], windows, device="cpu")
    for seed in range(1, 6):
        genomes = random_genomes(SPEC, 30, seed)
        assert_same_bits(alone.evaluate(genomes), engine.evaluate(genomes), f"population {seed}")
    assert certify(engine, genomes[:5]).is_green
    processes = (tmp_path / "calls").read_text().split()
    assert [processes.index(pid) for pid in processes] == [0, 0, 0, 3, 3, 5, 5, 5]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert all("illegal memory access" in line and "failure 1 in a row" in line for line in said)
