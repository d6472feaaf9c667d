"""Free memory, memory of rows, and threads that share one piece of work."""

import mmap
import threading

import pytest

from engine.runtime.cpu import memory as row_memory
from engine.runtime.cpu.threads import Threads
from engine.runtime.free_memory import free_host_bytes


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


@pytest.mark.parametrize(
    ("groups", "free"),
    [
        ({"job/part": (1000, 700, 200)}, 500),
        ({"job/part": ("max", 700, 0), "job": (900, 800, 1), "": (5000, 800, 0)}, 101),
        ({"job/part": (500, 700, 0)}, 0),
    ],
    ids=["inmost", "outer", "full"],
)
def test_the_tightest_group_bounds_what_is_free(tree, groups, free):
    """Taken memory counts, but for files that are only kept at hand; never less than nothing."""
    root, folder, is_old, own = tree
    for name, (limit, taken, kept) in groups.items():
        group(folder / name, limit=limit, taken=taken, kept=kept, is_old=is_old)
    assert free_host_bytes(root, own) == free


def test_a_kernel_without_large_pages_gives_memory_too(monkeypatch):
    """It refuses advice about them."""

    class Refusing(mmap.mmap):
        def madvise(self, *_):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Refusing)
    memory = row_memory.take_row_memory(5000)
    memory[:] = 255
    assert memory.nbytes == 5000


def test_an_error_of_any_thread_is_the_callers():
    """What another thread raises is not lost."""

    def work(number):
        if number == 1:
            raise ValueError("of thread 1")

    with pytest.raises(ValueError, match="of thread 1"):
        Threads(2).run(work, 2)


def test_no_call_begins_while_a_thread_is_left():
    """A caller that was interrupted leaves a thread, which ends before the next work begins."""
    threads, may_end, ended = Threads(2), threading.Event(), []

    def interrupt(number):
        if number == 0:
            raise KeyboardInterrupt
        may_end.wait(10)
        ended.append("first")

    with pytest.raises(KeyboardInterrupt):
        threads.run(interrupt, 2)
    threading.Timer(0.05, may_end.set).start()
    threads.run(lambda number: ended.append("second"), 1)
    assert ended == ["first", "second"]
