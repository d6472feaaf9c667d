"""Requests to judge a run, and how to go on with a judge that was stopped."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from data.shell import quote_word, write_command
from engine.errors import DeviceError
from optimizer.config.evidence import EvidenceSettings
from optimizer.config.run_config import format_flag
from optimizer.errors import LostError, StoppedError, WriteError
from optimizer.evidence.betting import DEFAULT_SEARCHES

if TYPE_CHECKING:
    from optimizer.cluster.cluster import Cluster
    from optimizer.cluster.searches import ClusterSearches


@dataclass(frozen=True)
class Asked:
    """Request of a person to judge a run."""

    flags: Mapping[str, object]  # those that were given, by field
    pick: int | None = None  # number of another member than the strongest
    is_open: bool = False  # whether to look at held-out bars


def choose_executor(workers: "Cluster | None") -> "ClusterSearches | None":
    """Executors of whole searches: of a cluster; None for this machine."""
    if workers is None:
        return None
    from optimizer.cluster.searches import ClusterSearches

    return ClusterSearches(workers)


@contextmanager
def naming_resume(
    path: Path, settings: EvidenceSettings, request: Asked | None = None
) -> Iterator[None]:
    """Say how to go on with a judge that was stopped, or whose GPU, cluster or disk failed."""
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError(f"stopped; {describe_kept(path, settings, request)}") from None
    except (DeviceError, LostError, WriteError) as error:
        raise type(error)(f"{error}; {describe_kept(path, settings, request)}") from error


def describe_kept(path: Path, settings: EvidenceSettings, request: Asked | None) -> str:
    """Sentence on what is kept of a judge, and the command that goes on with it."""
    null = settings.null or (DEFAULT_SEARCHES if settings.judge else 0)
    wanted = {**settings.model_dump(include=set(EvidenceSettings.model_fields)), "null": null}
    default = {name: field.default for name, field in EvidenceSettings.model_fields.items()}
    flags = [
        format_flag(name) + ("" if value is True else f" {quote_word(str(value))}")
        for name, value in wanted.items()
        if value != default[name] and name != "judge"
    ]
    if request is not None:
        flags += [f"--pick {request.pick}"] * (request.pick is not None) + [
            "--open"
        ] * request.is_open
    return "the front is recorded, and so is what was found out about it, go on with: " + " ".join(
        [write_command("judge", path), *flags]
    )
