"""Messages between client and workers; all of them are frozen, and small."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Work:
    """One job for a worker, a pure function of what it names: anybody may do it, at any time."""

    index: int  # its number among the jobs that are asked for together
    setup: str  # digest of the setup that does the job, which workers keep
    job: object  # of the setup
    made_for: str  # digest of the versions and bits that a worker must have
    shares: Mapping[str, int] = field(default_factory=dict)  # host to how many workers share it
    folder: str = ""  # where large bars lie as files by digest; empty where there are none
    # Digest to bytes that a worker lacks.
    carried: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class JobResult:
    """Result of a job."""

    index: int  # of the work
    setup: str  # digest of the setup that did the job
    result: object  # of the job
    seconds: float  # how long it took


@dataclass(frozen=True)
class Lacks:
    """The worker does not have what does the job."""

    # Of bars it does not have either; none before it has seen the setup.
    digests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Made:
    """Fingerprint of a process: versions, and the bits of a few known individuals."""

    versions: Mapping[str, str]  # name to version of all that decides bits
    bits: str  # hash of the engine's accumulators of some individuals on the sample
    device: str = ""  # where that was computed
    host: str = ""  # name of the machine
    cores: int = 1  # that the process may use
    seconds: float = 0.0  # how long it took

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
