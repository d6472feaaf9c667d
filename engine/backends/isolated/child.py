"""The child: answers one frame after another until the parent closes the pipe.

Run as ``python -m engine.backends.isolated.child BACKEND DEVICE``, the device as a person asked
for it. It starts the device while it still imports; which devices are used is told with the first
question.
"""

import gc
import importlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from data.bars import Window
from engine.areas import Area, Place
from engine.backends import BACKENDS, BackendMaker, Form, load_backend
from engine.backends.contract import Backend, Floats, StretchedRows
from engine.backends.devices import start_gpus
from engine.costs import Costs
from engine.errors import DeviceError, DeviceLostError
from engine.plain import bars_of, plain_ledgers, spec_of, windows_of
from engine.process import standard_pipes
from engine.wire import Array, ClosedError, Frame, receive, send
from strategy.spec import StrategySpec

Loader = Callable[[Sequence[int]], BackendMaker]
"""From numbers of devices to what makes a backend on them."""

Wait = Callable[[], bool | None]
"""Waits for a call, and says whether all is well; None where the backend leaves it to others."""

Action = Callable[[Frame], Frame]
"""Does what a frame asks."""

Begin = Callable[[Frame, Sequence[Array], Floats], Wait]
"""Begins a call, from what is told, arrays, and where accumulators go."""


class Made(NamedTuple):
    """A backend that the parent has made here, and what for.

    Args:
        backend: Holds series and rows.
        spec: The strategy.
        lengths: Bars of each series.
        costs: Costs and risk rules.
        capacity: Its slots.
        work_bytes: Its room beside rows.
    """

    backend: Backend
    spec: StrategySpec
    lengths: tuple[int, ...]
    costs: Costs
    capacity: int
    work_bytes: int


class Servant:
    """Answers frames with a backend.

    Args:
        load: Gives what makes it, once the parent has sent series.
    """

    def __init__(self, load: Loader) -> None:
        self._load = load
        self._standing: Made | None = None
        self._windows: tuple[Window, ...] = ()
        self._areas: dict[int, Area] = {}
        self._waits: dict[int, Wait] = {}

    def answer(self, frame: Frame) -> Frame | None:
        """Do what a frame asks; None where it is begun, to be waited for later."""
        calls: dict[str, Begin] = {
            "evaluate": self._evaluate,
            "try": self._try,
            "stretched": self._stretched,
        }
        if frame.kind in calls:
            self._begin(frame, calls[frame.kind])
            return None
        action = self.actions().get(frame.kind)
        if action is None:
            return Frame("unknown", {"why": f"nothing is known here of '{frame.kind}'"})
        return action(frame)

    def actions(self) -> dict[str, Action]:
        """What is done at once, by kind of frame."""
        return {
            "slot_bytes": self._slot_bytes,
            "series_bytes": self._series_bytes,
            "room": self._room,
            "make": self._make,
            "fill": self._fill,
            "windows": self._set_windows,
            "wait": self._wait,
            "release": self._release,
            "signals": self._signals,
            "ledgers": self._ledgers,
            "rows": self._rows,
        }

    @property
    def made(self) -> Made:
        """The backend that stands."""
        assert self._standing is not None
        return self._standing

    @property
    def _backend(self) -> Backend:
        return self.made.backend

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
        spec, costs = spec_of(told["spec"]), Costs(**told["costs"])
        series = bars_of(told["series"], frame.arrays)
        capacity, work_bytes = told["capacity"], told["work_bytes"]
        backend = self._maker(frame)(
            spec,
            series,
            costs,
            capacity=capacity,
            work_bytes=work_bytes,
            threads=told["threads"],
        )
        lengths = tuple(len(bars) for bars in series)
        self._standing = Made(backend, spec, lengths, costs, capacity, work_bytes)
        return Frame("done", {"threads": backend.threads})

    def _fill(self, frame: Frame) -> Frame:
        form: Any = frame.told["form"]
        lengths, slots = frame.arrays
        self._backend.fill(Form(*form), lengths, slots)  # type: ignore[arg-type]
        return Frame("done")

    def _set_windows(self, frame: Frame) -> Frame:
        windows: Any = frame.told["windows"]
        self._windows = windows_of(windows)
        return Frame("done")

    def _release(self, frame: Frame) -> Frame:
        """Give everything back that the backend holds; another is made then."""
        self._waits.clear()
        self._standing, self._windows = None, ()
        gc.collect()
        return Frame("done")

    def _begin(self, frame: Frame, begin: Begin) -> None:
        """Begin a call; whatever goes wrong is told to who waits for it."""
        told: Any = frame.told
        try:
            *arrays, out = self._seen(told["area"], told["bytes"], told["places"])
            wait = begin(frame, arrays, out.view(np.float64))
        except Exception as error:
            wait = partial(_raise, error)
        self._waits[told["area"]] = wait

    def _seen(self, descriptor: int, size: int, places: Sequence[Place]) -> list[Array]:
        """Arrays of an area; they are the parent's memory and ours."""
        area = self.area(descriptor, size)
        return [area.array(place) for place in places]

    def area(self, descriptor: int, size: int) -> Area:
        """An area of the parent's, with as many bytes as it says."""
        if descriptor not in self._areas:
            os.set_inheritable(descriptor, False)
            self._areas[descriptor] = Area(descriptor)
        self._areas[descriptor].see(size)
        return self._areas[descriptor]

    def _wait(self, frame: Frame) -> Frame:
        area: Any = frame.told["area"]
        return Frame("done", {"is_well": self._waits.pop(area)()})

    def _evaluate(self, frame: Frame, arrays: Sequence[Array], out: Floats) -> Wait:
        genomes, slots = arrays
        wait = self._backend.begin(genomes, slots, self._windows, out)  # type: ignore[arg-type]

        def done() -> bool:
            wait()
            return True

        return done

    def _try(self, frame: Frame, arrays: Sequence[Array], out: Floats) -> Wait:
        (genomes,) = arrays
        wait = self._backend.try_begin(genomes, self._windows, out)  # type: ignore[arg-type]
        return wait or (lambda: None)

    def _stretched(self, frame: Frame, arrays: Sequence[Array], out: Floats) -> Wait:
        forms: Any = frame.told["forms"]
        genomes, row_of, *lengths = arrays
        groups = [(Form(*form), of_form) for form, of_form in zip(forms, lengths, strict=True)]
        rows = StretchedRows(genomes, groups, row_of)  # type: ignore[arg-type]
        is_done = self._backend.evaluate_in_stretches(rows, self._windows, out)
        return lambda: is_done

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


def serve(
    load: Loader, source: int, target: int, servant_of: Callable[[Loader], Servant] = Servant
) -> None:
    """Answer until the parent is gone.

    Args:
        load: Gives what makes the backend.
        source: Descriptor that frames come from.
        target: Descriptor that answers go to.
        servant_of: Makes who answers.
    """
    servant = servant_of(load)
    while True:
        try:
            frame = receive(source)
        except ClosedError:
            return
        answer = _answer(servant, frame)
        try:
            if answer is not None:
                send(target, answer)
        except ClosedError:
            return


def _answer(servant: Servant, frame: Frame) -> Frame | None:
    try:
        return servant.answer(frame)
    except DeviceLostError as error:
        return Frame("lost", {"why": str(error)})
    except DeviceError as error:
        return Frame("device", {"why": str(error)})
    except Exception as error:
        return Frame("defect", {"why": f"{type(error).__name__}: {error}"})


def _raise(error: Exception) -> None:
    raise error


def main(servant_of: Callable[[Loader], Servant] = Servant) -> None:
    """Serve the backend that the command line names.

    Args:
        servant_of: Makes who answers.
    """
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
    serve(lambda numbers: load_backend(name, tuple(numbers)), source, target, servant_of)
    # Else libraries find them still there at the end, and complain.
    gc.unfreeze()


if __name__ == "__main__":
    main()
