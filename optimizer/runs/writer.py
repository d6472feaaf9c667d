"""What only the owner of a run has: a thread that commits, and the number to come next."""

from optimizer.errors import StoreError
from optimizer.runs.chain import Recovery
from optimizer.runs.committer import Committer
from optimizer.runs.database import open_writer
from optimizer.runs.lock import OwnerLock
from optimizer.runs.reader import Reader
from optimizer.runs.recorder import Recorder
from optimizer.runs.rows import snapshot
from optimizer.runs.space import KEEPS
from optimizer.search.generation import Generation


class Writer:
    """Takes generations one after the other and has them recorded.

    Args:
        reader: Of the same run, which says how it is kept.
        lock: Of its owner.
        journal: How the database keeps what is being written.
        recovery: What the run holds already.

    Attributes:
        last: Number of the newest generation that was taken, -1 before the first.
        recorder: The thread that records.
    """

    def __init__(self, reader: Reader, lock: OwnerLock, journal: str, recovery: Recovery) -> None:
        self.last = recovery.number
        self._width = None
        if recovery.generation is not None:
            self._width = snapshot(recovery.generation).shape[1:]
        keep = reader.format["keep"]
        self._committer = Committer(
            open_writer(reader.path, journal),
            reader.path,
            lock,
            keep=next(known for known in KEEPS if known == keep),
            budget=reader.budget,
            recovery=recovery,
        )
        self.recorder = Recorder(self._committer.commit)

    def record(self, generation: Generation) -> None:
        """Take the next generation.

        Raises:
            StoreError: When it is not the next one, is of another shape, or recording has failed.
        """
        if generation.number != self.last + 1:
            raise StoreError(
                f"generation {generation.number} cannot follow generation {self.last}: "
                f"the next to record is {self.last + 1}"
            )
        taken = snapshot(generation)
        if self._width not in (None, taken.shape[1:]):
            raise StoreError(
                f"generation {generation.number} has {taken.shape[1:]} genes and objectives, "
                f"those before it {self._width}"
            )
        self.recorder.submit(taken)
        self.last, self._width = generation.number, taken.shape[1:]

    def close(self) -> None:
        """Record what is left.

        Raises:
            StoreError: When recording has failed.
        """
        self.recorder.stop()
        self.recorder.check()
        self._committer.close()
