"""Several hosts: whole searches as tasks, one search with symbols on workers, and joining them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from optimizer.cluster.address import Address, parse_address
from optimizer.errors import ConfigError

if TYPE_CHECKING:
    from optimizer.cluster.cluster import Cluster
    from optimizer.evidence.jobs.executor import Executor


@contextmanager
def join_cluster(
    cluster: Address | str | None, runs: Path | None = None, *, may_differ: bool = False
) -> "Iterator[Cluster | None]":
    """The cluster at an address, as the flags name it, until the context ends; None without one.

    Large bars are put down in the folder of runs, if there is one. With `may_differ` workers that
    are not fit are only looked at. ConfigError when the library is not installed, or a worker is
    not fit; LostError when the scheduler or all workers are gone.
    """
    if cluster is None:
        yield None
        return
    try:
        from optimizer.cluster.cluster import Cluster
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"--cluster needs {error.name}: pip install 'exhaustion-optimizer[cluster]', "
            "on every host"
        ) from None
    # Only here: help and refusals need not wait for it.
    from optimizer.run.markets import BARS

    address = parse_address(cluster, None) if isinstance(cluster, str) else cluster
    folder = None if runs is None else runs / BARS
    with Cluster(address, folder, may_differ=may_differ) as workers:
        yield workers


def choose_executor(workers: "Cluster | None") -> "Executor | None":
    """Executors of whole searches: of a cluster; None for this machine."""
    if workers is None:
        return None
    from optimizer.cluster.jobs import ClusterSearches

    return ClusterSearches(workers)
