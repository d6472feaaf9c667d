"""config: the settings of a run, as a file."""

import typer

from optimizer.cli.flags import Sectioned, config_flags
from optimizer.cli.shared import ALL, ConfigFile, single_command
from optimizer.config.run_config import resolve_config, to_toml

app = single_command()


@app.command("config", cls=Sectioned)
@config_flags(*ALL)
def print_config(*, flags: dict[str, object], config: ConfigFile = None) -> None:
    """Print the configuration as TOML, each key under its meaning."""
    typer.echo(to_toml(resolve_config(config, flags)), nl=False)
