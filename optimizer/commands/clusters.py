"""Flags that name a cluster, and joining it for as long as a command needs it."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from optimizer.cluster.address import Address, parse_address
from optimizer.commands.flags import option
from optimizer.commands.notes import telling
from optimizer.errors import ConfigError

if TYPE_CHECKING:
    from optimizer.cluster.cluster import Cluster

DOING = "optimizer.cluster.doing"
"""The log that says what all workers do."""

FLAGS = {
    "cluster": Annotated[
        str | None,
        option(
            "--cluster",
            "Compute on workers: local:N begins some here; else where a Dask scheduler listens.",
            "local:N|tcp://HOST:PORT|tls://HOST:PORT|FILE",
        ),
    ],
    "cluster_tls": Annotated[
        Path | None,
        option("--cluster-tls", "Folder with ca.pem, cert.pem and key.pem for tls://.", "FOLDER"),
    ],
    "cluster_plaintext": Annotated[
        bool,
        option(
            "--cluster-plaintext",
            "Speak unencrypted with other machines: who can listen can run programs as you.",
        ),
    ],
}


def cluster_flags(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the flags of a cluster; it receives `cluster`, an `Address` or None."""

    @wraps(function)
    def command(**given: Any) -> None:  # noqa: ANN401 - whatever the command takes
        text, tls, is_plaintext = (given.pop(name) for name in FLAGS)
        if text is None and (tls is not None or is_plaintext):
            raise ConfigError(
                "--cluster-tls and --cluster-plaintext say how to speak to a cluster: add --cluster"
            )
        address = None if text is None else parse_address(text, tls, is_plaintext=is_plaintext)
        function(cluster=address, **given)

    own = [p for p in inspect.signature(function).parameters.values() if p.name != "cluster"]
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if name == "cluster_plaintext" else None,
            annotation=annotation,
        )
        for name, annotation in FLAGS.items()
    ]
    command.__signature__ = inspect.Signature(own + added)  # type: ignore[attr-defined]
    return command


@contextmanager
def joined(
    address: Address | None,
    runs: Path | None = None,
    *,
    quiet: bool = False,
    may_differ: bool = False,
) -> "Iterator[Cluster | None]":
    """The cluster at an address, until the context ends; None where none was asked for.

    Args:
        address: As the flags name it.
        runs: Folder of runs, in which large bars are put down; None for no such folder.
        quiet: Whether nobody is told what all workers do.
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
    from optimizer.commands.console import stderr
    from optimizer.session.markets import BARS

    hearing = nullcontext() if quiet else telling((DOING,), stderr().say)
    folder = None if runs is None else runs / BARS
    with hearing, Cluster(address, folder, may_differ=may_differ) as cluster:
        yield cluster
