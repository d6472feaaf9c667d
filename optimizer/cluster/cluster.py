"""Fit workers of a cluster: who is there, who is not fit, who is gone, and what all are doing."""

import logging
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from optimizer.cluster.address import Address
from optimizer.cluster.dask_client import CallTicket, Link, Worker
from optimizer.cluster.fingerprint import made_here
from optimizer.cluster.messages import Made
from optimizer.cluster.worker_cache import KEPT
from optimizer.errors import ConfigError, OptimizerError, WorkersLostError
from optimizer.formatting import format_count

log = logging.getLogger(__name__)
doing = logging.getLogger("optimizer.cluster.doing")

TELL_EVERY_S = 30.0

PATIENCE_S = 60.0
"""How long no worker may be there, and how long one may say nothing before it is named."""

MEETING_S = 300.0
"""How long a worker may take for its fingerprint: its first call compiles the engine, once."""

MOST_ENDS = 5
"""How often all workers may end before one answers; their watcher begins others."""

LISTEN_S = 2.0
"""So long is waited for a worker's answer, before it is seen whether it is still there."""

NAMED = 8
"""Workers whose calls a line of progress names."""


class Cluster:
    """Fit workers of a cluster, until it is left.

    Args:
        address: Of the scheduler, or how many workers to begin here.
        folder: Where large bars are written for workers to read; None where there is none.
        patience_s: As `PATIENCE_S`.
        may_differ: Whether workers whose results would be others are only looked at.
        link: A connection that is there already; one with `address` if None.

    Attributes:
        workers: Those that were there at the last look, by address.
        made: Fingerprint of each that was there at the beginning.
        here: Fingerprint of this process.
        homes: The worker that has the rows for the jobs of a home.
        looked: When the workers were last listed.

    Raises:
        ConfigError: When a worker is not fit, by name.
        SchedulerLostError: When no scheduler answers at the address.
        WorkersLostError: When no worker comes.
    """

    def __init__(
        self,
        address: Address,
        folder: Path | None = None,
        patience_s: float = PATIENCE_S,
        *,
        may_differ: bool = False,
        link: Link | None = None,
    ) -> None:
        self.address, self.folder, self._patience_s = address, folder, patience_s
        self.workers: dict[str, Worker] = {}
        self.made: dict[str, Made] = {}
        self.here = made_here("cpu")
        self.homes: dict[int, str] = {}
        self._heard: dict[str, tuple[float, float]] = {}
        self._silent: set[str] = set()
        self._away: dict[str, tuple[float, str]] = {}
        self.looked = self._told = time.monotonic()
        self._deserted: float | None = None
        self.link = link or Link(address)
        try:
            self._meet(may_differ=may_differ)
        except BaseException:
            self.link.close()
            raise

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            with suppress(OptimizerError):
                self.link.require()
                # Rows of a search may take much memory.
                self.link.leave(_forget, self.workers)
        finally:
            self.link.close()

    def shares(self) -> dict[str, int]:
        """Host to how many workers share it."""
        return dict(Counter(worker.host for worker in self.workers.values()))

    def look(self) -> None:
        """List workers; log those that came, went or are silent, and the calls of all.

        Raises:
            SchedulerLostError: When the scheduler is.
            WorkersLostError: When none has been there for long.
            ConfigError: When one came that speaks in the open, or one that is not fit stays.
        """
        now = self.looked = time.monotonic()
        seen = {worker.address: worker for worker in self.link.workers()}
        for address in self.workers.keys() - seen.keys():
            log.info("%s is gone", self.workers[address])
        came, self.workers = seen.keys() - self.workers.keys(), seen
        for address in came:
            self.address.require_safe(address, str(seen[address]))
            log.info("%s came", seen[address])
            if why := _describe_threads(seen[address]):
                self._refuse(address, why)
        self._send_away(now)
        # Between two looks much may be done here, or this process be stopped.
        self._deserted = None if seen else self._deserted or now
        if self._deserted and now - self._deserted > self._patience_s:
            raise self._build_no_worker_error()
        if len(seen) < self.address.local:
            self.link.mend()
        self._listen(seen.values(), now)
        if now - self._told > TELL_EVERY_S:
            self._told = now
            self._tell()

    def _listen(self, workers: Iterable[Worker], now: float) -> None:
        """Log workers that have been silent for long, once."""
        for worker in workers:
            seen, since = self._heard.get(worker.address, (None, now))
            if seen != worker.last_seen:
                self._heard[worker.address] = worker.last_seen, now
                self._silent.discard(worker.address)
            elif now - since > self._patience_s and worker.address not in self._silent:
                self._silent.add(worker.address)
                log.info("%s has said nothing for %.0f s", worker, now - since)

    def _tell(self) -> None:
        busy = {address: names for address, names in self.link.list_calls().items() if names}
        named = [
            f"{self.format_worker(address)}: {names[0]}"
            for address, names in sorted(busy.items())[:NAMED]
        ]
        more = len(busy) - len(named)
        if named:
            doing.info("%s%s", "; ".join(named), f"; {more} more" if more else "")

    def _meet(self, *, may_differ: bool) -> None:
        """Wait for a worker, and ask each for its fingerprint; refuse those that are not fit."""
        for _ in range(MOST_ENDS):
            workers = self._await_workers()
            tickets = {
                worker: self.link.begin(_take_fingerprint, worker=worker.address)
                for worker in workers
            }
            answers = {
                worker: self._await_fingerprint(worker, ticket)
                for worker, ticket in tickets.items()
            }
            self.made = {
                worker.address: made for worker, made in answers.items() if made is not None
            }
            if self.made:
                break
        else:
            raise WorkersLostError(
                f"--cluster {self.address.text}: {MOST_ENDS} times all workers ended before they "
                "said what they are: see what a worker prints, it may lack memory or a library"
            )
        self.workers = {worker.address: worker for worker in workers if worker.address in self.made}
        refused = [
            f"{self.format_worker(address)}: {', '.join(differing)}"
            for address, made in self.made.items()
            if (differing := made.differences(self.here))
        ]
        if refused and not may_differ:
            raise ConfigError("; ".join(refused))
        summary = (
            f"{format_count(len(self.made), 'worker')} on "
            f"{format_count(len(self.shares()), 'host')}"
        )
        devices = ", ".join(sorted({made.device for made in self.made.values()}))
        log.info("%s: %s", summary, devices)

    def _await_workers(self) -> tuple[Worker, ...]:
        """All workers, once there are any; of this machine, once all are there."""
        began = time.monotonic()
        # A scheduler that begins workers itself knows how many there will be.
        while len(workers := self.link.workers()) < max(self.address.local, 1):
            if time.monotonic() - began > self._patience_s:
                raise self._build_no_worker_error()
            time.sleep(0.05)
        for worker in workers:
            self.address.require_safe(worker.address, str(worker))
            if why := _describe_threads(worker):
                raise ConfigError(f"{worker}: {why}")
        return workers

    def _await_fingerprint(self, worker: Worker, ticket: CallTicket) -> Made | None:
        """Fingerprint of a worker; None of one that ended before it answered."""
        try:
            made: Made | None = self.await_answer(worker, ticket, MEETING_S)
        except TimeoutError:
            raise WorkersLostError(
                f"{worker} has not answered for {MEETING_S:.0f} s: end it, or wait until it "
                "has done what another client left"
            ) from None
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"{worker} has not this version installed ({error})") from None
        if made is None:
            log.info("%s ended before it said what it is", worker)
        return made

    def await_answer(self, worker: Worker, ticket: CallTicket, limit_s: float) -> Any:  # noqa: ANN401
        """The answer of one worker to a call; None where it ended before.

        Raises:
            SchedulerLostError, ReleasedError: As of `Link.answer`.
            TimeoutError: When there is none after `limit_s` seconds.
        """
        until = time.monotonic() + limit_s
        while True:
            try:
                return self.link.answer(ticket, LISTEN_S)
            except TimeoutError:
                if worker.address not in {other.address for other in self.link.workers()}:
                    return None
                if time.monotonic() > until:
                    raise
                self.link.end_unknown([ticket])

    def send_away(self, address: str, made: Made) -> None:
        """End a worker that came later and whose results would be others; logged once."""
        self._refuse(address, ", ".join(made.differences(self.here)))
        self.look()

    def _refuse(self, address: str, why: str) -> None:
        if address not in self._away:
            log.info("%s is refused and sent away: %s", self.format_worker(address), why)
            self._away[address] = time.monotonic(), why

    def is_fit(self) -> bool:
        """Whether all that were sent away are gone."""
        return not self._away.keys() & self.workers.keys()

    def _send_away(self, now: float) -> None:
        """Ask those to go that are not fit; one whose answers are still on their way stays.

        Raises:
            ConfigError: When one has stayed for long.
        """
        for address in self._away.keys() & self.workers.keys():
            since, why = self._away[address]
            if now - since > self._patience_s:
                name = self.format_worker(address)
                raise ConfigError(f"{name} is not fit and does not go: {why}; end it")
            self.link.send_away(address)

    def assign_worker(self, home: int | None) -> str:
        """The worker of a home; where it is gone, the one that has fewest. Empty without a home."""
        if home is None:
            return ""
        if self.workers and self.homes.get(home) not in self.workers:
            taken = Counter(self.homes.values())
            self.homes[home] = min(self.workers, key=lambda worker: (taken[worker], worker))
        return self.homes.get(home, "")

    def format_worker(self, address: str) -> str:
        """Name of a worker, for people."""
        return str(self.workers.get(address, f"a worker at {address}"))

    def _build_no_worker_error(self) -> WorkersLostError:
        return WorkersLostError(
            f"--cluster {self.address.text}: no worker for {self._patience_s:.0f} s"
        )


def _describe_threads(worker: Worker) -> str:
    """Why a worker that does several pieces of work at a time is not fit; empty for one."""
    if worker.threads == 1:
        return ""
    return (
        f"does {worker.threads} pieces of work at a time: begin it with --nthreads 1, each piece "
        "uses as many cores as its share of the host"
    )


def _take_fingerprint() -> Made:
    """On a worker: its fingerprint; setups kept for an earlier client are let go."""
    KEPT.forget()
    return made_here()


def _forget() -> None:
    """On a worker: let go of kept setups."""
    KEPT.forget()
