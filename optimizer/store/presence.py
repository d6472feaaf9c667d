"""The database of a run while it is written: at its path, the same file, and never shorter."""

import os
import shlex
from pathlib import Path

from optimizer.errors import DisturbedError
from optimizer.store.lock import OwnerLock


class Presence:
    """State of a run's database that its owner saw last.

    Args:
        database: Its path.
        lock: Of the owner, which holds the run's folder open.
    """

    def __init__(self, database: Path, lock: OwnerLock) -> None:
        self._database, self._lock = database, lock
        self._seen = os.stat(database)

    def check(self) -> None:
        """Require the file that was seen before.

        A database grows or stays as it is: rows give way to others, and pages are not given back.

        Raises:
            DisturbedError: When it was moved, removed, replaced or cut, with what to do.
        """
        try:
            present = os.stat(self._database)
        except OSError:
            raise DisturbedError(self._describe_absence()) from None
        if not os.path.samestat(self._seen, present):
            raise DisturbedError(
                f"{self._database} was replaced by another file while the run was written: what "
                f"was recorded is not in it; {self._advice(self._database.parent)}"
            )
        if present.st_size < self._seen.st_size:
            raise DisturbedError(
                f"{self._database} was cut from {self._seen.st_size:,} to {present.st_size:,} "
                "bytes by another program while the run was written: what was recorded is partly "
                f"lost; {self._advice(self._database.parent)}"
            )
        self._seen = present

    def _describe_absence(self) -> str:
        run, now = self._database.parent, self._lock.find_folder()
        if now is None or not (now / self._database.name).exists():
            return (
                f"{self._database} was removed while the run was written: what was recorded is "
                "lost, start a new run"
            )
        return (
            f"run '{run.name}' was moved to {now} while it was written: what was recorded is "
            f"there, go on with: python -m optimizer evolve --resume {shlex.quote(str(now))}"
        )

    @staticmethod
    def _advice(run: Path) -> str:
        return f"what is left says: python -m optimizer runs verify {shlex.quote(str(run))}"
