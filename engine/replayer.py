"""The reference in a process of its own: answers frames until its parent closes the pipe.

Run as ``python -m engine.replayer``. It imports the reference and nothing of the batch engine.
"""

import gc
import os
import threading
import traceback
from queue import SimpleQueue
from typing import Any

import numpy as np

from engine.costs import Costs
from engine.plain import bars_of, plain_ledgers, spec_of, windows_of
from engine.process import standard_pipes
from engine.reference import Reference
from engine.wire import ClosedError, Frame, receive, send


def serve(source: int, target: int) -> None:
    """Replay what is asked for, one frame after another; ends the process with its parent.

    Args:
        source: Descriptor that frames come from.
        target: Descriptor that answers go to.
    """
    asked: SimpleQueue[Frame] = SimpleQueue()
    threading.Thread(target=_listen, args=(source, asked), daemon=True).start()
    reference: Reference | None = None
    while True:
        frame = asked.get()
        try:
            if frame.kind == "market":
                reference = _reference(frame)
                continue
            assert reference is not None
            answer = _replayed(reference, frame)
        except Exception:
            answer = Frame("defect", {"why": traceback.format_exc()})
        try:
            send(target, answer)
        except ClosedError:
            return


def _listen(source: int, asked: "SimpleQueue[Frame]") -> None:
    """Hand frames on; when the parent is gone nobody waits for what is being computed."""
    while True:
        try:
            asked.put(receive(source))
        except ClosedError:
            os._exit(1)


def _reference(frame: Frame) -> Reference:
    told: Any = frame.told
    return Reference(
        spec_of(told["spec"]),
        bars_of(told["series"], frame.arrays),
        windows_of(told["windows"]),
        Costs(**told["costs"]),
    )


def _replayed(reference: Reference, frame: Frame) -> Frame:
    (genomes,) = frame.arrays
    replays = [each for one in reference.replay(genomes.view(np.float64)) for each in one]
    folded = np.array([accumulators for _, accumulators in replays])
    return Frame("done", {}, [folded, *plain_ledgers([ledger for ledger, _ in replays])])


def main() -> None:
    """Serve the parent."""
    # Nothing here has cycles worth a search: what is kept is kept on purpose.
    gc.disable()
    serve(*standard_pipes())


if __name__ == "__main__":
    main()
