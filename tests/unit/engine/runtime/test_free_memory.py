"""What is free is bounded by the machine and by every control group around the process."""

import ctypes
from pathlib import Path

import psutil
import pytest

from data.bars import Window
from engine.batch import Engine
from engine.cpu.backend import CpuBackend
from engine.runtime.free_memory import free_host_bytes
from tests.support.commands import printed
from tests.support.worlds import SHORT_SPECS, make_bars


def group(folder, *, limit, taken, kept, is_old):
    """A control group with a limit, as its files show it."""
    folder.mkdir(parents=True, exist_ok=True)
    names = (
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        if is_old
        else ("memory.max", "memory.current", "inactive_file")
    )
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{taken}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {kept}\n")


@pytest.fixture(params=[False, True], ids=["one_tree", "a_tree_a_kind"])
def tree(request, tmp_path):
    """Where groups are, where those of memory are, whether they are old, and who is in which."""
    own = tmp_path / "own"
    own.write_text(
        "8:cpu,cpuacct:/job\n4:memory:/job/part\n" if request.param else "0::/job/part\n"
    )
    root = tmp_path / "groups"
    return root, (root / "memory" if request.param else root), request.param, own


def test_inmost_limit_bounds_what_is_free(tree):
    """What a group has taken counts, but for files that are only kept at hand."""
    root, groups, is_old, own = tree
    group(groups / "job" / "part", limit=1000, taken=700, kept=200, is_old=is_old)
    assert free_host_bytes(root, own) == 500


def test_outer_limit_bounds_what_is_free(tree):
    """The tightest of all groups around a process decides; one without a limit does not."""
    root, groups, is_old, own = tree
    group(groups / "job" / "part", limit="max", taken=700, kept=0, is_old=is_old)
    group(groups / "job", limit=900, taken=800, kept=1, is_old=is_old)
    group(groups, limit=5000, taken=800, kept=0, is_old=is_old)
    assert free_host_bytes(root, own) == 101


def test_a_full_group_leaves_nothing(tree):
    """A group above its limit leaves nothing, not less than nothing."""
    root, groups, is_old, own = tree
    group(groups / "job" / "part", limit=500, taken=700, kept=0, is_old=is_old)
    assert free_host_bytes(root, own) == 0


@pytest.mark.parametrize("own", ["absent", "0::/../..\n", "4:memory:/\n"])
def test_without_limits_the_machine_decides(tmp_path, own):
    """Without a group's limit, what the machine has available is free."""
    file = tmp_path / "own"
    if own != "absent":
        file.write_text(own)
    total = psutil.virtual_memory().total
    assert total // 100 < free_host_bytes(tmp_path / "groups", file) <= total


@pytest.mark.parametrize(("limit", "taken"), [("RLIMIT_DATA", "data"), ("RLIMIT_AS", "vms")])
def test_a_limit_of_the_process_bounds_what_is_free(limit, taken):
    """As a shell sets it; what the process has taken counts.

    In a process of its own: this one gives memory back while it is asked, and threads take some.
    """
    program = f"""
import resource, psutil
from engine.runtime.free_memory import free_host_bytes

free_host_bytes()
taken = psutil.Process().memory_info().{taken}
resource.setrlimit(resource.{limit}, (taken + 10**8, -1))
print(free_host_bytes())
"""
    assert 9 * 10**7 < int(printed(program)) <= 10**8


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="needs the GNU library")
def test_what_was_let_go_of_is_free():
    """What the C library keeps of it for later is given back before anything is counted."""

    def hold_memory():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

    pieces = [bytes(100_000) for _ in range(1000)]
    kept = pieces[::100]
    before = hold_memory()
    del pieces
    free_host_bytes()
    assert before - hold_memory() > 50_000
    assert len(kept) == 10


def test_rows_may_take_a_stated_share_of_what_is_free(monkeypatch):
    """Half of what is free holds rows, as many as fit, and the plan names the total."""
    bars = make_bars(1, 300)
    monkeypatch.setattr("engine.cpu.backend.free_host_bytes", lambda: 54_000)
    engine = Engine(SHORT_SPECS["seller_exhaustion"], [bars], [Window.whole(bars)], device="cpu")
    plan = engine.memory_plan(1)
    assert plan.slots == CpuBackend.shares.of_free * 54_000 // plan.slot_bytes == 10
    assert "up to 10 rows, 0.0 MB of 0.1 MB free" in str(plan)
