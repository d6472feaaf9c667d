"""Whatever way an engine is asked in, and whatever it has room for: the results of the corpus."""

import numpy as np
import pytest

from engine import batch
from engine.accounts.ledger import ACCUMULATORS
from engine.batch import Engine
from engine.devices import Device, choose_device
from engine.out_of_core import Group, PartedEngine, create_engine, evaluate_groups
from engine.runtime.cpu import memory as row_memory
from tests.golden.cases import CASES, make_world
from tests.golden.results import find_ledger_difference, read_results
from tests.support.comparisons import WHY, needs_gpu
from tests.support.market_waves import compare_markets

GPU = [pytest.mark.gpu, pytest.mark.skipif(bool(WHY), reason=f"no cuda device: {WHY}")]

NAMES = ("seller_exhaustion", "higher", "donchian_trail", "adaptive_trend", "by_volatility",
         "limits_of_one")  # fmt: skip
"""At the market, with money, with limits; of one series and of many."""

OPTIONS = {
    "one thread": {"threads": 1},
    "two threads": {"threads": 2},
    "one individual at a time": {"chunk": 1},
    "seven at a time": {"chunk": 7},
    "little memory": {"memory_bytes": 2**20},
}
ON_GPU = {"seven at a time": {"chunk": 7}, "little memory": {"memory_bytes": 2**24}}
"""What a GPU is asked with; it has the series beside the rows."""

ASKED = [
    *(pytest.param(name, "cpu", options, id=f"{name}, {option}")
      for name in NAMES for option, options in OPTIONS.items()),
    # Sides of trends that a GPU has no memory for end in an IndexError.
    *(pytest.param(name, "cuda", options, id=f"{name}, {option}, cuda", marks=GPU)
      for name in NAMES for option, options in ON_GPU.items()
      if (name, option) != ("adaptive_trend", "little memory")),
]  # fmt: skip


def ask(name):
    """What an engine of a case takes, its genomes, and the recorded sums [P, W, A], [P, A]."""
    case, world, recorded = CASES[name], make_world(CASES[name].world), read_results()[name]
    sums = recorded.sums[:, :-1], recorded.sums[:, -1]
    return (case.strategy, *world, case.costs), case.draw_genomes(name), sums


def assert_recorded(what, expected, actual):
    """Every bit."""
    apart = np.argwhere(expected.view(np.int64) != np.ascontiguousarray(actual).view(np.int64))
    assert not len(apart), f"{what}: individual, window, {ACCUMULATORS[apart[0][-1]]} {apart[0]}"


@pytest.mark.parametrize(("name", "device_name", "options"), ASKED)
def test_threads_chunks_and_memory_change_no_bit(name, device_name, options):
    """Nor what was evaluated before, nor the order, nor the company; rows there or not."""
    asked, genomes, (sums, account) = ask(name)
    engine = Engine(*asked, device=device_name, **options)
    order = np.random.Generator(np.random.PCG64(1)).permutation(len(genomes))
    for some in (slice(None), order, slice(7, 8), slice(20, None), slice(None)):
        assert_recorded(some, sums[some], engine.evaluate(genomes[some]))
    assert_recorded("account", account[order], engine.evaluate_account(genomes[order])[1])


def take_pairs(count, n_windows):
    """Pairs of individual and window in an order, some of them twice."""
    rng = np.random.Generator(np.random.PCG64(2))
    return np.stack([rng.integers(0, count, 200), rng.integers(0, n_windows, 200)], axis=1)


@pytest.mark.parametrize("apart", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_pairs_and_groups_are_parts_of_the_product(name, apart):
    """Any pairs; windows of some individuals, with and without an account; series apart."""
    asked, genomes, (sums, account) = ask(name)
    engine, pairs = create_engine(*asked, device="cpu", apart=apart), take_pairs(*sums.shape[:2])
    if not asked[-1].has_limits:
        assert_recorded(
            "pairs", sums[pairs[:, 0], pairs[:, 1]], engine.evaluate_pairs(genomes, pairs)
        )
    windows = [*range(sums.shape[1])]
    groups = [Group(genomes[9:20], windows), Group(genomes[15:], windows, is_account=True)]
    if not asked[-1].has_limits:
        groups.append(Group(genomes[:9], windows[1:]))
    plain, joint, *fewer = evaluate_groups(engine, groups)
    assert_recorded("group", sums[9:20], plain[0])
    assert_recorded("account of a group", account[15:], joint[1])
    for answer, _ in fewer:
        assert_recorded("some windows", sums[:9, 1:], answer)


@needs_gpu
def test_markets_of_a_gpu_are_one_engine():
    """Each individual meets one of them."""
    assert compare_markets("cuda") > 300


@pytest.mark.parametrize("name", NAMES[:-1])
def test_parts_of_series_are_the_whole(name):
    """Sums, ledgers and signals where memory holds one series at a time."""
    asked, genomes, (sums, account) = ask(name)
    borders = range(len(asked[1]) + 1)
    parted = PartedEngine(*asked, choose_device(asked[0], "cpu"), borders)
    for expected, actual in zip((sums, account), parted.evaluate_account(genomes), strict=True):
        assert_recorded("parts", expected, actual)
    listed = read_results()[name].listed
    assert not find_ledger_difference(
        name, parted.trades(genomes[listed]), parted.signals(genomes[listed])
    )


@pytest.mark.parametrize("name", NAMES[:-1])
def test_engines_on_other_windows_and_on_old_memory(name, monkeypatch):
    """Rows are shared, and are written where others stood."""
    asked, genomes, (sums, _) = ask(name)
    strategy, series, windows, costs = asked
    monkeypatch.setattr(row_memory, "_KEPT", [])
    monkeypatch.setattr(row_memory, "SMALL", 0)
    monkeypatch.setattr(batch, "PART_PAIRS", 7)
    monkeypatch.setattr(batch, "LISTED_PAIRS", 1)
    with row_memory.keeping_row_memory():
        for _ in range(2):
            engine = Engine(strategy, series, windows[::-1], costs, device="cpu")
            assert_recorded("reversed", sums[:, ::-1], engine.evaluate(genomes))
            assert_recorded("on others", sums[:, :1], engine.on(windows[:1]).evaluate(genomes))
            del engine
            for memory in row_memory._KEPT:
                memory[:] = 255


def test_several_devices_share_a_population():
    """Processors in the place of GPUs: results come back in the order of individuals."""
    pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")
    from engine.cpu import CpuBackend
    from engine.cuda.multi_gpu import SeveralGpus

    class Split(CpuBackend):
        def __new__(cls, *arguments, **options):
            return SeveralGpus([CpuBackend(*arguments, **options) for _ in range(3)], fewest=1)

    asked, genomes, (sums, account) = ask("seller_exhaustion")
    engine = Engine(*asked, device=Device("several", "a test", Split), threads=1)
    assert_recorded("split", sums, engine.evaluate(genomes))
    assert_recorded("split", account, engine.evaluate_account(genomes)[1])
