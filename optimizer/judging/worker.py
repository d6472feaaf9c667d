"""A process that does jobs: reads a setup and then jobs from stdin, answers on stdout, in pickles.

It talks with the process that began it and with nobody else, and ends with it.
"""

import os
import pickle
import queue
import signal
import sys
import threading
from typing import IO, Any


def main() -> None:
    """Serve until stdin ends."""
    # Ctrl-C reaches the whole group; who began us decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever prints must not end up between the answers.
    os.dup2(2, 1)
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    try:
        setup = pickle.load(sys.stdin.buffer)
    except EOFError:
        # Who began us has ended already.
        return
    threading.Thread(target=_listen, args=(sys.stdin.buffer, jobs), daemon=True).start()
    while True:
        job = jobs.get()
        found, error = None, None
        try:
            found = setup.run(job)
        except Exception as raised:
            error = raised
        answers.write(_packed(found, error))
        answers.flush()


def _listen(stream: IO[bytes], jobs: "queue.SimpleQueue[Any]") -> None:
    """Take jobs as they come; without anybody there the process ends in the middle of one."""
    while True:
        try:
            jobs.put(pickle.load(stream))
        except (EOFError, OSError):
            os._exit(0)


def _packed(found: object, error: Exception | None) -> bytes:
    try:
        answer = pickle.dumps((found, error))
        if error is not None:
            # Some can be written and not be read.
            pickle.loads(answer)
        return answer
    except Exception as raised:
        why = raised if error is None else error
        return pickle.dumps((None, RuntimeError(f"{type(why).__name__}: {why}")))


if __name__ == "__main__":
    main()
