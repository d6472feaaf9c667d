"""Threads that share one piece of work."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait


class Threads:
    """Runs one function on several threads at once, the caller's among them.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(max(count - 1, 1), thread_name_prefix="engine")
        self._others: list[Future[None]] = []

    def run(self, work: Callable[[int], None], parts: int) -> None:
        """Run work to its end on every thread, at most `parts` of them.

        It takes the number of its thread, releases Python's lock, and takes part after part until
        none is left.
        """
        # A caller that was interrupted while waiting has left some behind.
        wait(self._others)
        self._others = [self._pool.submit(work, i) for i in range(1, min(self.count, parts))]
        try:
            work(0)
            for other in self._others:
                other.result()
        except BaseException:
            # Nobody writes any more where the next call prepares its work.
            wait(self._others)
            raise
