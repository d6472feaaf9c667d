"""mcp: tools for an agent over stdio, with limits that the owner of the machine sets."""

from pathlib import Path
from typing import Annotated

from optimizer.cli.flags import Sectioned, config_flags, option, write_flags
from optimizer.cli.shared import DATA, Runs, explain_missing, single_command
from optimizer.config.run_config import TRADES, resolve_config
from optimizer.config.settings import DeviceSettings, GoalSettings

app = single_command()

DECIDING = tuple(name for name in TRADES if name != "strategy")
SEARCHED = (*DECIDING, *GoalSettings.model_fields, *DeviceSettings.model_fields, "seed")
"""Flags that the owner settles for all searches of an agent."""

GIGABYTE = 10**9


@app.command("mcp", cls=Sectioned)
@config_flags(*dict.fromkeys(SEARCHED))
def serve_agent(
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    most_seconds: Annotated[
        int, option("--most-seconds", "That a call may take.", "SECONDS", min=30)
    ] = 600,
    most_memory: Annotated[
        int, option("--most-memory", "That a call may take, in gigabytes.", "GB", min=1)
    ] = 8,
    most_candidates: Annotated[
        int, option("--most-candidates", "That a search may evaluate.", "N", min=1)
    ] = 100_000,
    trust_python: Annotated[
        bool,
        option("--trust-python", "Let an agent write any Python, which runs with your rights."),
    ] = False,
) -> None:
    """Let an agent describe bars, check, backtest and search ideas, and judge runs.

    It speaks the Model Context Protocol over stdin and stdout, until they are closed. The agent
    reads no bars but these, writes into no folder but that of runs, and cannot open held-out bars.
    All that it tries is counted.
    """
    try:
        from optimizer.agents.bounded import CallLimits
        from optimizer.agents.server import OwnerSettings, build_server
    except ModuleNotFoundError as error:
        raise explain_missing(error, "mcp") from None
    resolve_config(None, flags)
    bars, trades, search = (
        write_flags({name: value for name, value in flags.items() if name in names})
        for names in (DATA, DECIDING, SEARCHED)
    )
    limits = CallLimits(most_seconds, most_memory * GIGABYTE)
    owner = OwnerSettings(runs, bars, trades, search, limits, most_candidates, trust_python)
    build_server(owner).run("stdio")
