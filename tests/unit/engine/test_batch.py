"""The engine's front: devices by name, what it refuses, what memory decides, free room."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.devices
from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.limits import build_limits
from engine.accounts.strategy_stakes import build_stake
from engine.batch import Engine
from engine.devices import choose_backend, choose_device, choose_strategy_backend
from engine.errors import DeviceError, EngineError, MemoryPlanError
from engine.out_of_core import create_engine
from engine.reference_standing import StandingStrand, find_holders, find_standing
from engine.validate import are_legal
from engine.workload import Workload
from strategy import words as w
from strategy.errors import GeneError
from tests.support.averages import FOLLOWING, REVERSING
from tests.support.random_strategies import drawn_orders, drawn_strategy
from tests.support.references import compiled_reference
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(1, 300)
WHOLE = Window.whole(BARS)


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"windows": []}, EngineError, "window"),
        ({"windows": [Window(1, 0, 5)]}, EngineError, "series 1"),
        ({"windows": [Window(0, 0, 301)]}, EngineError, "0 to 301"),
        ({"chunk": 0}, EngineError, "chunk"),
        ({"device": "tpu"}, DeviceError, "tpu.*cuda:0"),
        ({"threads": 10_000}, DeviceError, "threads"),
        ({"threads": 0}, DeviceError, "threads"),
        ({"memory_bytes": 1000}, MemoryPlanError, "2,700"),
    ],
)
def test_engine_refuses_what_it_cannot_do(arguments, error, word):
    """Wrong series, windows, devices and limits are refused with their values."""
    given = {"spec": SPEC, "series": [BARS], "windows": [WHOLE], "device": "cpu", **arguments}
    with pytest.raises(error, match=word):
        Engine(**given)


def test_other_windows_have_limits_too():
    """A window beyond the bars is refused."""
    engine = Engine(SPEC, [BARS], [Window(0, 0, 90)], device="cpu")
    with pytest.raises(EngineError, match="301"):
        engine.on([Window(0, 0, 301)])


def test_memory_decides_on_parts(monkeypatch):
    """All together where what is free holds them; a series alone that does not fit is refused."""
    series = [make_bars(seed, 300 + 40 * seed) for seed in range(5)]
    windows = [Window(s, start, 290) for s in (3, 0, 4, 1, 2) for start in (0, 100)]
    genomes = SPEC.layout.repair(np.stack([SPEC.layout.defaults, SPEC.layout.low]))[0]

    def make_engine(**options):
        return create_engine(SPEC, series, windows, device="cpu", **options)

    whole = make_engine()
    assert type(whole) is Engine
    monkeypatch.setattr("engine.cpu.backend.free_host_bytes", lambda: 350_000)
    parted = make_engine()
    assert parted.n_parts == 4
    assert parted.evaluate(genomes).tobytes() == whole.evaluate(genomes).tobytes()
    assert make_engine(memory_bytes=10**6).n_parts == 1
    assert make_engine(memory_bytes=50_000).n_parts == 5
    with pytest.raises(MemoryPlanError, match="individual"):
        make_engine(memory_bytes=20_000).evaluate(genomes)


@pytest.fixture
def four_gpus(monkeypatch):
    """A machine with four GPUs, as far as names are concerned."""
    monkeypatch.setattr(engine.devices, "why_absent", lambda name: "")
    monkeypatch.setattr(engine.devices, "count_gpus", lambda: 4)


@pytest.mark.parametrize(
    ("name", "label", "devices"),
    [
        ("auto", "cuda:0,1,2,3", (0, 1, 2, 3)),
        ("cuda", "cuda:0,1,2,3", (0, 1, 2, 3)),
        ("cuda:2", "cuda:2", (2,)),
        ("cuda:3,1", "cuda:3,1", (3, 1)),
        ("cpu", "cpu", ()),
    ],
)
def test_names_of_devices(four_gpus, name, label, devices):
    """All GPUs, some by number, each once, or the processor."""
    choice = choose_backend(name)
    assert (choice.label, choice.devices) == (label, devices)


def test_a_gpu_that_is_not_there_is_refused(four_gpus):
    """A number that this machine lacks is never replaced by another."""
    with pytest.raises(DeviceError, match="4 GPUs"):
        choose_backend("cuda:1,4")


def test_auto_says_why_it_takes_the_processor(monkeypatch):
    """Without a GPU auto takes the CPU and names the reason; cuda is refused with it."""
    monkeypatch.setattr(engine.devices, "why_absent", lambda name: "no driver")
    assert choose_backend("auto").label == "cpu"
    assert "no driver" in choose_backend("auto").reason
    with pytest.raises(DeviceError, match="no driver"):
        choose_backend("cuda:0")


def test_strategies_run_on_the_named_device(four_gpus, monkeypatch):
    """On GPUs by the same names and the same weighing, or refused; never somewhere else."""
    pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")
    strategy = drawn_strategy(1)
    few, many = Workload(10**6, 0), Workload(10**12, 0)
    for name, workload, label in (
        ("cuda:2", None, "cuda:2"),
        ("cpu", None, "cpu"),
        ("auto", few, "cpu"),
        ("auto", many, "cuda:0,1,2,3"),
    ):
        device = choose_device(strategy, name, workload)
        assert device.label == label
        numbers = ",".join(map(str, getattr(device.maker, "devices", ())))
        assert label == (f"cuda:{numbers}" if numbers else "cpu")
    monkeypatch.setattr(engine.devices, "why_absent", lambda name: "no driver")
    with pytest.raises(DeviceError, match="no driver"):
        choose_device(strategy, "cuda")


@pytest.mark.parametrize("costs", [None, Costs(fee_unit=0.1)], ids=["orders", "fees"])
def test_orders_run_on_cores_where_nothing_compiles_them(costs, four_gpus, monkeypatch):
    """Auto says so, and a GPU that was asked for is refused; without orders it is taken."""
    pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")
    monkeypatch.setattr(engine.devices, "why_no_orders", lambda: "a package is absent")
    strategy = drawn_strategy(1) if costs else drawn_orders(1)
    choice = choose_strategy_backend(strategy, "auto", costs=costs)
    assert (choice.name, choice.reason) == ("cpu", "orders run on CPU cores, a package is absent")
    with pytest.raises(DeviceError, match="runs no orders: a package is absent; use cpu or auto"):
        choose_strategy_backend(strategy, "cuda:1", costs=costs)
    assert choose_strategy_backend(drawn_strategy(1), "auto").name == "cuda"


SAMPLE = 35_040


@pytest.mark.parametrize(
    ("individuals", "bars", "rows", "threads", "name", "figure"),
    [
        (512 * 101 + 4096, SAMPLE, 4000, 2, "cpu", "2 G"),
        (512 * 4001, SAMPLE, 4000, 16, "cuda", "72 G"),
        (1024 * 41, 2_000_000, 4000, 16, "cuda", "84 G"),
        # Few individuals, but rows that take long.
        (128, 2_000_000, 4000, 2, "cuda", "0.26 G"),
        (1, SAMPLE, 6, None, "cpu", "0.035 M"),
    ],
)
def test_auto_weighs_the_work(four_gpus, individuals, bars, rows, threads, name, figure):
    """A GPU where it is done first with its start, with the figure that decided."""
    workload = Workload(individuals * bars, rows * bars, threads)
    choice = choose_backend("auto", workload)
    assert choice.name == name
    assert choice.reason.startswith(figure)
    for named in ("cpu", "cuda"):
        assert choose_backend(named, workload).name == named


@pytest.mark.parametrize(
    ("individuals", "generations", "name"),
    [(512, 1_000, "cpu"), (2_048, 100, "cpu"), (4_096, 300, "cuda")],
)
def test_auto_leaves_orders_to_cores(four_gpus, individuals, generations, name):
    """A GPU walks their bars one after the other: it has to have many individuals at once."""
    work = Workload(individuals * generations * SAMPLE, 0, 16, generations, SAMPLE)
    assert choose_backend("auto", work).name == "cuda"
    assert choose_backend("auto", work._replace(order_bars=SAMPLE)).name == name


SERIES = [make_bars(seed, 120, jump=0.05) for seed in (3, 4, 5)]
FIRST = 60

VARYING = w.strategy(
    "Above an average, sized by how far bars reach.",
    long=w.close > w.ema(w.close, w.length("window", 5, 2, 20)),
    exit_long=w.close < w.ema(w.close, w.length("window", 5, 2, 20)),
    stop=w.share(0.03),
    account=w.account(10_000, w.volatility(0.02, w.rma(w.true_range, 5))),
    name="varying",
)

CASES = {
    "one": (FOLLOWING, Costs(max_positions=1)),
    "two": (REVERSING, Costs(max_positions=2)),
    "ranked": (FOLLOWING, Costs(max_positions=1, rank="zscore(volume, 5)")),
    "leverage": (FOLLOWING, Costs(max_leverage=0.5)),
    "both": (VARYING, Costs(max_positions=2, max_leverage=2.5)),
}


def stand(spec, costs, count):
    """Ledgers and strands after so many bars of each symbol."""
    windows = [Window(number, 0, count) for number in range(len(SERIES))]
    reference, genome = compiled_reference(spec, SERIES, windows, costs), spec.layout.defaults
    ledgers, asked = reference.trades(genome), reference.list_asks(genome)
    stake = build_stake(spec, costs, spec.layout.decode(genome))
    return ledgers, [
        StandingStrand(asking, ledger, stake, find_standing(reference, genome, window, ledger))
        for asking, ledger, window in zip(asked, ledgers, windows, strict=True)
    ]


@pytest.mark.parametrize("name", CASES)
def test_room_is_what_the_next_open_makes_of_it(name):
    """Of each bar: who is about to enter is taken there, who is full is skipped there."""
    spec, costs = CASES[name]
    limits, seen = build_limits(costs), {"taken": 0, "skipped": 0}
    ledgers, strands = stand(spec, costs, FIRST)
    for count in range(FIRST, FIRST + 40):
        after, following = stand(spec, costs, count + 1)
        for place, holders in enumerate(find_holders(strands, limits)):
            if strands[place].standing.pending is None:
                assert holders is None
                continue
            skipped = after[place].skipped - ledgers[place].skipped
            assert skipped == (holders is not None)
            is_taken = bool((after[place].entry_bar == count).any())
            rejected = after[place].rejected - ledgers[place].rejected
            assert is_taken + rejected == (holders is None)
            if holders is not None:
                # An open of the bar is known where it is, so it also decides who entered before.
                assert holders
                assert place not in holders
                assert all((after[holder].exit_bar >= count).any() for holder in holders)
            seen["taken"] += is_taken
            seen["skipped"] += skipped
        ledgers, strands = after, following
    assert min(seen.values()) >= 1, seen


LIMITS = (SPEC.least, SPEC.layout.most, SPEC.layout.is_int.astype(np.int64), SPEC.layout.ordered)
ODD = [np.nan, np.inf, -np.inf, 0.0, -1.0, 0.5, 1.0, 2.0, 2.0**31, 1e308, -1e308, 5e-324, 13.0]


@given(st.integers(0, 4), st.integers(0, len(SPEC.layout) - 1), st.sampled_from(ODD))
def test_the_compiled_answer_is_that_of_the_strategy(individual, gene, value):
    """A genome is refused by the loop exactly when the strategy refuses it by name."""
    genomes = random_genomes(SPEC, 5, seed=1)
    genomes[individual, gene] = value
    is_legal = True
    try:
        SPEC.check_genomes(genomes)
    except GeneError:
        is_legal = False
    assert are_legal(genomes, *LIMITS) == is_legal
