"""Setups that a worker keeps by digest; bars are packed apart, so that they travel once.

A setup is packed with the digests of its bars in their place. A worker that unpacks one asks for
those that are missing. A few setups are kept, with what they have computed; bars live as long as
one of these uses them.
"""

import hashlib
import io
import pickle
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol
from weakref import WeakKeyDictionary, WeakValueDictionary

from data import Bars
from data.errors import SourceError
from data.mmap_store import find_mapped_file, map_bars, pack_bars, unpack_bars, write_packed
from optimizer.cluster.fingerprint import made_here
from optimizer.cluster.messages import JobResult, Lacks, Made, Work
from optimizer.errors import ConfigError
from optimizer.evidence.jobs.workers import Runner
from optimizer.store.space import build_write_error
from strategy.model import Strategy

MOST_KEPT = 64
"""Setups that a worker keeps; a search on many symbols has a shard or some on each."""

MOST_CARRIED = 256_000_000
"""Bytes of bars that travel with a piece of work at most; more are read from a shared folder."""


class Setup(Protocol):
    """Does jobs, wherever it is."""

    def on_host(self, share: int) -> Runner:
        """The same on a host that so many workers share."""
        ...


class Parcel:
    """A setup, packed.

    Args:
        setup: What does jobs.

    Attributes:
        digest: SHA-256, hexadecimal, of `body`.
        body: The setup without its bars.
        bars: Digest to bars.

    Raises:
        ConfigError: When it cannot be packed, such as functions of this very program.
    """

    def __init__(self, setup: Setup) -> None:
        self.bars: dict[str, Bars] = {}
        into = io.BytesIO()
        try:
            _Packer(into, self.bars).dump(setup)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ConfigError(
                f"other hosts do not have what this program itself defines ({error}): leave "
                "--cluster out, and it is computed here"
            ) from None
        self.body = into.getvalue()
        if b"__main__" in self.body:
            raise ConfigError("other hosts do not know what this program itself defines")
        self.digest = hashlib.sha256(self.body).hexdigest()

    def pack_missing(self, lacks: Lacks, folder: Path | None) -> tuple[dict[str, bytes], str]:
        """Bytes by digest for a worker that lacks something, and a folder to read.

        Large bars are written to the folder, which all hosts have to share.

        Raises:
            ConfigError: When bars are large and there is no folder.
            DataError: When they cannot be written there.
            WriteError: When there is no room for them.
        """
        wanted = {digest: self.bars[digest] for digest in lacks.digests}
        size = sum(bars.n_bytes for bars in wanted.values())
        # Bars on disk already were too much for this process, which should not send them either.
        is_mapped = any(find_mapped_file(bars) is not None for bars in wanted.values())
        if size <= MOST_CARRIED and not is_mapped:
            return {self.digest: self.body, **{key: pack_bars(wanted[key]) for key in wanted}}, ""
        if folder is None:
            raise ConfigError(f"{size / 1e6:,.0f} MB of bars are too many to send to a worker")
        for digest, bars in wanted.items():
            if not (folder / digest).is_file():
                try:
                    write_packed(pack_bars(bars), folder)
                except OSError as error:
                    raise build_write_error(error, folder / digest, bars.n_bytes) from None
        return {self.digest: self.body}, str(folder.resolve())


def refuse_own_indicators(spec: Strategy) -> None:
    """Refuse a strategy whose indicators are a person's own: other hosts do not have their code.

    Raises:
        ConfigError: With the name of one.
    """
    if spec.own:
        raise ConfigError(
            f"--cluster: own indicator '{min(spec.own)}': its code is yours, and other hosts do "
            "not have it; leave --cluster out, and it is computed here"
        )


class Keep:
    """Setups and bars of a process."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._setups: OrderedDict[str, Runner] = OrderedDict()
        self._bars: WeakValueDictionary[str, Bars] = WeakValueDictionary()

    def setup(self, digest: str) -> Runner | None:
        """One that is kept; None where it is not."""
        runner = self._setups.get(digest)
        if runner is not None:
            self._setups.move_to_end(digest)
        return runner

    def unpack(
        self, digest: str, carried: Mapping[str, bytes], folder: str, share: int
    ) -> Runner | tuple[str, ...]:
        """Unpack a setup and keep it; digests of bars that are lacking where some are not here.

        Args:
            digest: Of the setup.
            carried: Its body, and bars, by digest.
            folder: Where bars lie as files; empty for none.
            share: Workers on this host.

        Raises:
            ConfigError: When bytes do not match their digest.
        """
        held: dict[str, Bars] = {}
        lacking: list[str] = []

        def find_bars(name: str) -> Bars | None:
            bars = self._bars.get(name) or _read(name, carried, folder)
            if bars is None:
                lacking.append(name)
                return None
            held[name] = self._bars[name] = bars
            return bars

        setup = _Unpacker(io.BytesIO(_verify_digest(digest, carried[digest])), find_bars).load()
        if lacking:
            return tuple(dict.fromkeys(lacking))
        runner: Runner = setup.on_host(share)
        self._setups[digest] = runner
        while len(self._setups) > self._most:
            self._setups.popitem(last=False)
        return runner

    def forget(self) -> None:
        """Let go of everything."""
        self._setups.clear()


KEPT = Keep()
"""Of this process."""


def solve(work: Work, host: str = "", keep: Keep = KEPT) -> JobResult | Lacks | Made:
    """Do a piece of work.

    Args:
        work: What to do.
        host: By which name `work.shares` knows this machine.
        keep: Setups that this process has.

    Returns:
        The result; or what is lacking for it; or, where this process would find other bits, its
        fingerprint.
    """
    here = made_here()
    if here.digest != work.made_for:
        return here
    setup = keep.setup(work.setup)
    if setup is None:
        if work.setup not in work.carried:
            return Lacks()
        share = work.shares.get(host, 1)
        unpacked = keep.unpack(work.setup, work.carried, work.folder, share)
        if isinstance(unpacked, tuple):
            return Lacks(unpacked)
        setup = unpacked
    began = time.perf_counter()
    result = setup.run(work.job)
    return JobResult(work.index, work.setup, result, time.perf_counter() - began)


class _Packer(pickle.Pickler):
    def __init__(self, into: io.BytesIO, bars: dict[str, Bars]) -> None:
        super().__init__(into, protocol=5)
        self._bars = bars

    def persistent_id(self, obj: object) -> str | None:
        """The digest that stands for bars; everything else is written."""
        if not isinstance(obj, Bars):
            return None
        digest = _hash_bars(obj)
        self._bars[digest] = obj
        return digest


class _Unpacker(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, bars_of: Callable[[str], Bars | None]) -> None:
        super().__init__(source)
        self._bars_of = bars_of

    def persistent_load(self, pid: str) -> Bars | None:
        """The bars of a digest."""
        return self._bars_of(pid)


_DIGESTS: WeakKeyDictionary[Bars, str] = WeakKeyDictionary()


def _hash_bars(bars: Bars) -> str:
    """Digest of packed bars, worked out once for each."""
    if (file := find_mapped_file(bars)) is not None:
        return file.name
    if bars not in _DIGESTS:
        _DIGESTS[bars] = hashlib.sha256(pack_bars(bars)).hexdigest()
    return _DIGESTS[bars]


def _read(name: str, carried: Mapping[str, bytes], folder: str) -> Bars | None:
    """Bars that came with the work, or lie in a folder; None where neither is so."""
    if (body := carried.get(name)) is not None:
        return unpack_bars(_verify_digest(name, body))
    if folder and (Path(folder) / name).is_file():
        try:
            return map_bars(Path(folder) / name)
        except SourceError as error:
            raise ConfigError(str(error)) from None
    return None


def _verify_digest(digest: str, body: bytes) -> bytes:
    if hashlib.sha256(body).hexdigest() != digest:
        raise ConfigError(f"what came as {digest[:12]} has other bytes: it was changed on its way")
    return body
