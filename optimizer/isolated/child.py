"""The device's process of a run: it evaluates, as the engine's does, and searches when asked to.

Run as ``python -m optimizer.isolated.child BACKEND DEVICE``. A search has the device's rows for
itself; whatever else the parent asks ends it, and is answered as ever.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from engine.areas import places_of
from engine.backends.isolated.child import Action, Loader, Servant, main
from engine.backends.isolated.work import STEP
from engine.errors import DeviceError, EngineError
from engine.wire import Frame
from optimizer.errors import OptimizerError

if TYPE_CHECKING:
    from optimizer.generation import Generation

SEARCH = "search"
"""What asks for a search; see `parent.SearchWork`."""


class Searcher(Servant):
    """Answers frames with a backend, and searches beside it.

    Args:
        load: As in `Servant`.
    """

    def __init__(self, load: Loader) -> None:
        super().__init__(load)
        self._found: Iterator[Generation] | None = None

    def answer(self, frame: Frame) -> Frame | None:
        """Do what a frame asks; whatever is no step ends a search, which holds the backend."""
        if frame.kind != STEP:
            self._found = None
        return super().answer(frame)

    def actions(self) -> dict[str, Action]:
        """What is done at once, by kind of frame."""
        return {**super().actions(), SEARCH: self._search, STEP: self._step}

    def _search(self, frame: Frame) -> Frame:
        # Who only evaluates never needs it.
        from optimizer.isolated.search import begun_search

        self._found = begun_search(self.made, frame.told, frame.arrays)
        return Frame("done")

    def _step(self, frame: Frame) -> Frame:
        """The next generation, laid into the area that is named; or that there is none."""
        from optimizer.isolated.plain import plain_generation

        try:
            generation = next(self._found or iter(()), None)
        except DeviceError:
            raise
        except (OptimizerError, EngineError) as error:
            # Another process would refuse it too.
            return Frame("done", {"refused": type(error).__name__, "why": str(error)})
        if generation is None:
            return Frame("done", {"is_over": True})
        told: Any = frame.told
        numbers, arrays = plain_generation(generation)
        places, size = places_of([(array.dtype.name, array.shape) for array in arrays])
        area = self.area(told["area"], told["bytes"])
        area.grow(size)
        for place, array in zip(places, arrays, strict=True):
            area.array(place)[...] = array
        return Frame("done", {"generation": numbers, "places": places, "bytes": area.bytes})


if __name__ == "__main__":
    main(Searcher)
