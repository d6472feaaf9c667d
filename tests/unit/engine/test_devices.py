"""Devices by name, and which one auto takes."""

import pytest

import engine.devices
from engine.accounts.costs import Costs
from engine.devices import choose_backend, choose_device, choose_strategy_backend
from engine.errors import DeviceError
from engine.workload import Workload
from tests.support.random_strategies import drawn_orders, drawn_strategy


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
    work = Workload(individuals * generations * SAMPLE, 0, 16, False, generations, SAMPLE)
    assert choose_backend("auto", work).name == "cuda"
    assert choose_backend("auto", work._replace(order_bars=SAMPLE)).name == name
