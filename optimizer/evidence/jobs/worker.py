"""A process that does jobs: reads functions and jobs from stdin, answers on stdout, in pickles.

A function comes as bytes and holds until the next one, after the folders of modules that it may
need; a job comes as a tuple, with whether it may ask. Its outcome is sent as a tuple of result and
error, a question before it and its answer as tuples of one.

It talks with its parent process alone, and ends with it.
"""

import importlib
import os
import pickle
import queue
import signal
import sys
import threading
from typing import IO, Any

from engine.runtime.collector import pause_collector
from engine.runtime.cpu.memory import keeping_row_memory
from optimizer.processes import OwnModules

JOBS = "optimizer.evidence.judge"
"""Imports what jobs need."""


# It makes one engine after the other.
@keeping_row_memory()
def main() -> None:
    """Serve until stdin ends."""
    # Ctrl-C reaches the whole group; the parent process decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever prints must not end up between the answers.
    os.dup2(2, 1)
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    # A process may wait for its first job: imports are done when it comes.
    with pause_collector(is_program=True):
        importlib.import_module(JOBS)
    threading.Thread(target=_listen, args=(sys.stdin.buffer, messages), daemon=True).start()
    run: Any = None
    own_modules: dict[str, str] = {}
    sys.meta_path.append(OwnModules(own_modules))

    def ask(question: object) -> Any:  # noqa: ANN401 - of any kind
        """The parent's answer."""
        _tell(answers, pickle.dumps((question,), pickle.HIGHEST_PROTOCOL))
        (answered,) = messages.get()
        return answered

    while True:
        message = messages.get()
        if isinstance(message, dict):
            own_modules.update(message)
            continue
        if isinstance(message, bytes):
            run = pickle.loads(message)
            continue
        job, may_ask = message
        answer, error = None, None
        try:
            answer = run(job, ask) if may_ask else run(job)
        except Exception as raised:
            error = raised
        _tell(answers, _pickle_answer(answer, error))


def _tell(answers: IO[bytes], message: bytes) -> None:
    answers.write(message)
    answers.flush()


def _listen(stream: IO[bytes], messages: "queue.SimpleQueue[Any]") -> None:
    """Queue messages as they come; once the parent is gone the process ends, in a job too."""
    try:
        while True:
            messages.put(pickle.load(stream))
    finally:
        # Also in the middle of a message, which cannot be read then.
        os._exit(0)


def _pickle_answer(result: object, error: Exception | None) -> bytes:
    try:
        pickled = pickle.dumps((result, error))
        if error is not None:
            # Some can be written and not be read.
            pickle.loads(pickled)
        return pickled
    except Exception as raised:
        why = raised if error is None else error
        return pickle.dumps((None, RuntimeError(f"{type(why).__name__}: {why}")))


if __name__ == "__main__":
    main()
