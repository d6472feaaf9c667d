"""Memory of rows."""

import mmap

from engine.runtime.cpu import row_memory


def test_a_kernel_without_large_pages_gives_memory_too(monkeypatch):
    """It refuses advice about them."""

    class Refusing(mmap.mmap):
        def madvise(self, *_):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Refusing)
    memory = row_memory.take_row_memory(5000)
    memory[:] = 255
    assert memory.nbytes == 5000
