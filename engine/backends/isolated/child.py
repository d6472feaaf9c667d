"""The child: answers one frame after another until the parent closes the pipe.

Run as ``python -m engine.backends.isolated.child BACKEND DEVICE``, the device as a person asked
for it. It starts the device while it still imports; which devices are used is told with the first
question.
"""

import gc
import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from data.bars import Window
from engine.backends import BACKENDS, BackendMaker, Form, load_backend
from engine.backends.contract import Backend, StretchedRows
from engine.backends.devices import start_gpus
from engine.costs import Costs
from engine.errors import DeviceError, DeviceLostError
from engine.ledger import ACCUMULATORS
from engine.plain import bars_of, plain_ledgers, spec_of, windows_of
from engine.process import standard_pipes
from engine.wire import ClosedError, Frame, receive, send

Loader = Callable[[Sequence[int]], BackendMaker]
"""From numbers of devices to what makes a backend on them."""


class Servant:
    """Answers frames with a backend.

    Args:
        load: Gives what makes it, once the parent has sent series.
    """

    def __init__(self, load: Loader) -> None:
        self._load = load
        self._backend: Backend
        self._windows: tuple[Window, ...] = ()

    def answer(self, frame: Frame) -> Frame:
        """Do what a frame asks."""
        actions: dict[str, Callable[[Frame], Frame]] = {
            "slot_bytes": self._slot_bytes,
            "series_bytes": self._series_bytes,
            "room": self._room,
            "make": self._make,
            "fill": self._fill,
            "windows": self._set_windows,
            "evaluate": self._evaluate,
            "stretched": self._stretched,
            "signals": self._signals,
            "ledgers": self._ledgers,
            "rows": self._rows,
        }
        return actions[frame.kind](frame)

    def _maker(self, frame: Frame) -> BackendMaker:
        numbers: Any = frame.told["devices"]
        return self._load(numbers)

    def _slot_bytes(self, frame: Frame) -> Frame:
        lengths: Any = frame.told["lengths"]
        taken = self._maker(frame).slot_bytes([range(n) for n in lengths])  # type: ignore[misc]
        return Frame("done", {"bytes": taken})

    def _series_bytes(self, frame: Frame) -> Frame:
        lengths: Any = frame.told["lengths"]
        taken = self._maker(frame).series_bytes([range(n) for n in lengths])  # type: ignore[misc]
        return Frame("done", {"bytes": taken})

    def _room(self, frame: Frame) -> Frame:
        told: Any = frame.told
        room = self._maker(frame).room(told["bytes"], told["series_bytes"])
        return Frame("done", room._asdict())

    def _make(self, frame: Frame) -> Frame:
        told: Any = frame.told
        self._backend = self._maker(frame)(
            spec_of(told["spec"]),
            bars_of(told["series"], frame.arrays),
            Costs(**told["costs"]),
            capacity=told["capacity"],
            work_bytes=told["work_bytes"],
            threads=told["threads"],
        )
        return Frame("done", {"threads": self._backend.threads})

    def _fill(self, frame: Frame) -> Frame:
        form: Any = frame.told["form"]
        lengths, slots = frame.arrays
        self._backend.fill(Form(*form), lengths, slots)  # type: ignore[arg-type]
        return Frame("done")

    def _set_windows(self, frame: Frame) -> Frame:
        windows: Any = frame.told["windows"]
        self._windows = windows_of(windows)
        return Frame("done")

    def _evaluate(self, frame: Frame) -> Frame:
        genomes, slots = frame.arrays
        found = self._backend.evaluate(genomes, slots, self._windows)  # type: ignore[arg-type]
        return Frame("done", {}, [found])

    def _stretched(self, frame: Frame) -> Frame:
        forms: Any = frame.told["forms"]
        genomes, row_of, *lengths = frame.arrays
        groups = [(Form(*form), of_form) for form, of_form in zip(forms, lengths, strict=True)]
        out = np.empty((len(genomes), len(self._windows), len(ACCUMULATORS)))
        rows = StretchedRows(genomes, groups, row_of)  # type: ignore[arg-type]
        is_done = self._backend.evaluate_in_stretches(rows, self._windows, out)
        return Frame("done", {}, [out] if is_done else [])

    def _signals(self, frame: Frame) -> Frame:
        window: Any = frame.told["window"]
        genome, slots = frame.arrays
        found = self._backend.signals(genome, slots, Window(*window))  # type: ignore[arg-type]
        return Frame("done", {}, [found])

    def _ledgers(self, frame: Frame) -> Frame:
        told: Any = frame.told
        genomes, slots = frame.arrays
        found = self._backend.ledgers(genomes, slots, windows_of(told["windows"]))  # type: ignore[arg-type]
        return Frame("done", {}, plain_ledgers([ledger for each in found for ledger in each]))

    def _rows(self, frame: Frame) -> Frame:
        told: Any = frame.told
        return Frame("done", {}, [self._backend.rows(told["slot"], told["series"])])


def serve(load: Loader, source: int, target: int) -> None:
    """Answer until the parent is gone.

    Args:
        load: Gives what makes the backend.
        source: Descriptor that frames come from.
        target: Descriptor that answers go to.
    """
    servant = Servant(load)
    while True:
        try:
            frame = receive(source)
        except ClosedError:
            return
        try:
            answer = servant.answer(frame)
        except DeviceLostError as error:
            answer = Frame("lost", {"why": str(error)})
        except DeviceError as error:
            answer = Frame("device", {"why": str(error)})
        except Exception as error:
            answer = Frame("defect", {"why": f"{type(error).__name__}: {error}"})
        try:
            send(target, answer)
        except ClosedError:
            return


def main() -> None:
    """Serve the backend that the command line names."""
    source, target = standard_pipes()
    name, device = sys.argv[1:]
    # Libraries leave a million objects behind; looking through them for cycles takes a tenth.
    gc.disable()
    if name == "cuda":
        starting = threading.Thread(target=start_gpus, args=(device,), daemon=True)
        starting.start()
        importlib.import_module(BACKENDS[name].partition(":")[0])
        starting.join()
    gc.freeze()
    gc.enable()
    serve(lambda numbers: load_backend(name, tuple(numbers)), source, target)
    # Else libraries find them still there at the end, and complain.
    gc.unfreeze()


if __name__ == "__main__":
    main()
