"""ui: runs in a browser, while they are searched and afterwards."""

import os
from pathlib import Path
from types import FrameType
from typing import Annotated

from optimizer.cli.console import stdout
from optimizer.cli.flags import option
from optimizer.cli.notes import handle_signals, note
from optimizer.cli.shared import Runs, explain_missing, single_command

app = single_command()

POLITE = 10
"""Niceness: a search on the same cores comes first."""

MOST_PORT = 65_535


@app.command("ui")
def serve_runs(
    *,
    runs: Runs = Path("runs"),
    forecasts: Annotated[Path, option("--forecasts", "Folder of forecasts.", "FOLDER")] = Path(
        "forecasts"
    ),
    port: Annotated[
        int, option("--port", "Port to listen at; 0 for any.", "PORT", min=0, max=MOST_PORT)
    ] = 0,
    host: Annotated[
        str, option("--host", "Address to listen on; another one lets others in.", "HOST")
    ] = "127.0.0.1",
) -> None:
    """Show runs and forecasts in a browser, searches as they grow. Ctrl-C ends it."""
    try:
        from optimizer.viewing.access import is_loopback
        from optimizer.viewing.serving import RunServer
    except ModuleNotFoundError as error:
        raise explain_missing(error, "ui") from None
    server = RunServer(runs, port, host, forecasts)
    os.nice(POLITE)
    if not is_loopback(server.bound):
        who = f"whoever reaches {server.bound} and has the address"
        note(f"{who} sees these runs; nothing is encrypted")
    stdout().say(server.address)

    def end(_received: int, _frame: FrameType | None) -> None:
        server.stop()

    with handle_signals(end):
        server.run()
