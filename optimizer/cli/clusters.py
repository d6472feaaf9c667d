"""Flags that name a cluster."""

import inspect
from pathlib import Path
from typing import Annotated

from optimizer.cli.flags import Flags, option
from optimizer.cluster.address import Address, parse_address
from optimizer.errors import ConfigError


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


CLUSTER: Flags = (list(inspect.signature(_address).parameters.values()), _address)
"""Flags of a cluster; a command receives an `Address` or None."""
