"""Messages between client and workers; all of them are frozen, and small."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Work:
    """One job for a worker, a pure function of what it names: anybody may do it, at any time.

    Args:
        index: Its number among the jobs that are asked for together.
        setup: Digest of the setup that does the job, which workers keep.
        job: Of the setup.
        made_for: Digest of the versions and bits that a worker must have.
        shares: Host to how many workers share it.
        folder: Where large bars lie as files by digest; empty where there are none.
        carried: Digest to bytes that a worker lacks.
    """

    index: int
    setup: str
    job: object
    made_for: str
    shares: Mapping[str, int] = field(default_factory=dict)
    folder: str = ""
    carried: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class JobResult:
    """Result of a job.

    Args:
        index: Of the work.
        setup: Digest of the setup that did the job.
        result: Of the job.
        seconds: How long it took.
    """

    index: int
    setup: str
    result: object
    seconds: float


@dataclass(frozen=True)
class Lacks:
    """The worker does not have what does the job.

    Args:
        digests: Of bars it does not have either; none before it has seen the setup.
    """

    digests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Made:
    """Fingerprint of a process: versions, and the bits of a few known individuals.

    Args:
        versions: Name to version of all that decides bits.
        bits: Hash of the engine's accumulators of some individuals on the sample.
        device: Where that was computed.
        host: Name of the machine.
        cores: That the process may use.
        seconds: How long it took.
    """

    versions: Mapping[str, str]
    bits: str
    device: str = ""
    host: str = ""
    cores: int = 1
    seconds: float = 0.0

    @property
    def digest(self) -> str:
        """Of what has to be equal; device, host and cores need not be."""
        parts = [*sorted(self.versions.items()), ("bits", self.bits)]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def differences(self, expected: "Made") -> tuple[str, ...]:
        """A text for each thing in which this differs, such as ``engine 2, here 3``."""
        names = [*expected.versions, *(self.versions.keys() - expected.versions.keys())]
        pairs = [(n, self.versions.get(n, "none"), expected.versions.get(n, "none")) for n in names]
        if expected.bits != self.bits:
            pairs.append(("bits of the sample", self.bits[:12], expected.bits[:12]))
        return tuple(f"{name} {value}, here {here}" for name, value, here in pairs if value != here)
