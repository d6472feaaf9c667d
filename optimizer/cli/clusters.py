"""Flags that name a cluster, and joining it for as long as a command needs it."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from optimizer.cli.flags import Command, option, taking
from optimizer.cluster.address import Address, parse_address
from optimizer.errors import ConfigError

if TYPE_CHECKING:
    from optimizer.cluster.cluster import Cluster


def cluster_flags(function: Command) -> Command:
    """Give a command the flags of a cluster; it receives `cluster`, an `Address` or None."""
    return taking("cluster", inspect.signature(_address).parameters.values(), _address)(function)


@contextmanager
def connect_cluster(
    address: Address | None,
    runs: Path | None = None,
    *,
    may_differ: bool = False,
) -> "Iterator[Cluster | None]":
    """The cluster at an address, until the context ends; None without an address.

    Args:
        address: As the flags name it.
        runs: Folder of runs, in which large bars are put down; None for no such folder.
        may_differ: Whether workers that are not fit are only looked at.

    Raises:
        ConfigError: When what speaks to hosts is not installed, or a worker is not fit.
        LostError: When the scheduler or all workers are gone.
    """
    if address is None:
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

    folder = None if runs is None else runs / BARS
    with Cluster(address, folder, may_differ=may_differ) as cluster:
        yield cluster


def _address(
    *,
    cluster: Annotated[
        str | None,
        option(
            "--cluster",
            "Compute on workers: local:N begins some here; else where a Dask scheduler listens.",
            "local:N|tcp://HOST:PORT|tls://HOST:PORT|FILE",
        ),
    ] = None,
    cluster_tls: Annotated[
        Path | None,
        option("--cluster-tls", "Folder with ca.pem, cert.pem and key.pem for tls://.", "FOLDER"),
    ] = None,
    cluster_plaintext: Annotated[
        bool,
        option(
            "--cluster-plaintext",
            "Speak unencrypted with other machines: who can listen can run programs as you.",
        ),
    ] = False,
) -> Address | None:
    """Address of the cluster that flags name; None where they name none."""
    if cluster is not None:
        return parse_address(cluster, cluster_tls, is_plaintext=cluster_plaintext)
    if cluster_tls is not None or cluster_plaintext:
        raise ConfigError(
            "--cluster-tls and --cluster-plaintext say how to speak to a cluster: add --cluster"
        )
    return None
