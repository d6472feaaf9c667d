"""Arguments and flags that several commands have, and which knobs each command takes."""

import inspect
from pathlib import Path
from typing import Annotated, Literal

import typer

from optimizer.cli.app import AnsweringGroup
from optimizer.cli.flags import Flags, argument, option
from optimizer.cluster.address import Address, parse_address
from optimizer.config.run_config import RunConfig
from optimizer.config.settings import DataSettings
from optimizer.errors import ConfigError

ConfigFile = Annotated[Path | None, option("--config", "TOML file; flags win over it.", "FILE")]
AsJson = Annotated[bool, option("--json", "Print one JSON object.")]
AnyJson = Annotated[bool, option("--json", "Print JSON.")]
Runs = Annotated[Path, option("--runs", "Folder in which runs are recorded.", "FOLDER")]
Member = Annotated[
    int | None,
    option("--member", "Which candidate, by its number in the front.", "NUMBER", min=0),
]
GenesFile = Annotated[
    Path | None, option("--genes", "Genes as JSON or CSV, or what a command wrote.", "FILE")
]
Genes = Annotated[list[str], option("--set", "One gene; repeatable.", "GENE=VALUE")]
Now = Annotated[
    str | None, option("--now", "The clock, ISO time UTC; that of this machine if unset.", "T")
]
Order = Literal["created", "verdict", "strength", "return", "trades"]
"""Keys that a list of runs is sorted by."""

Platform = Literal["backtesting.py", "freqtrade", "nautilus_trader", "vectorbt", "pine"]
"""Whose programs are written."""

Front = Annotated[
    Literal["few", "all"],
    option("--front", "Members that are printed: those that differ most, or all.", "few|all"),
]
RunName = Annotated[str, argument("A run's id, its beginning, its path, or latest.", "RUN")]
Specs = Annotated[list[str] | None, argument("Bars, as --data names them.", "SPEC")]
Trust = Annotated[
    bool,
    option("--trust", "Trust the run from now on: run its Python, read the files that it names."),
]
Quiet = Annotated[bool, option("--quiet", "Show no progress.")]

ALL = tuple(RunConfig.model_fields)
"""Flags of every knob."""

DATA = tuple(name for name in DataSettings.model_fields if name != "finer")
READ = tuple(name for name in DATA if name != "data")
FETCH = ("timeframe", "start", "end", "adjusted", "accept_missing", "cache", "max_bytes")
RANGE = {
    "start": "First day to fetch, such as 2024-01-01, UTC.",
    "end": "The day after the last; up to the last day that has been over for a day if unset.",
}
"""Bounds of a range where bars are fetched, in words."""

MOST = 10_000_000
"""Individuals that a command takes at once, as many as a population may have."""


def command_group(text: str) -> typer.Typer:
    """Commands under one word; `text` is its help."""
    return typer.Typer(
        cls=AnsweringGroup,
        help=text,
        callback=lambda: None,
        add_completion=False,
        rich_markup_mode=None,
    )


def explain_missing(error: ModuleNotFoundError, extra: str) -> ConfigError:
    """Error with the missing package, and the command that installs it."""
    text = f"{error.name} is not installed: pip install 'exhaustion-optimizer[{extra}]'"
    return ConfigError(text)


def single_command() -> typer.Typer:
    """Group of a single command."""
    return typer.Typer(add_completion=False, rich_markup_mode=None)


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
