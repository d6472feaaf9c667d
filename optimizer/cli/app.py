"""The program: its commands by name, each declared and run in the file of that name.

The imports of a command happen when it runs, and that of its file when it is named.
"""

from collections import UserDict
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from optimizer.errors import ConfigError, StoppedError

COMMANDS = (
    "evolve", "backtest", "agree", "parity", "judge", "null", "power", "signal", "watch",
    "portfolio", "report", "scan", "doctor", "config", "runs", "ui", "data", "strategies",
    "objectives", "forecast", "mcp",
)  # fmt: skip
"""In the order of help; each is the `app` of its file, alone or with commands under it."""


ANSWERS: list[StoppedError] = []
"""Answers to a signal: another one may come while the first of them is told."""


class _Commands(UserDict[str, Any]):
    """Commands by name, of which one is imported when it is asked for."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - the library's own
        if super().__getitem__(name) is None:
            command = import_module(f"optimizer.cli.{name}").app
            self[name] = typer.main.get_command(command)
        return super().__getitem__(name)


def explain_wrong_use(error: TyperException, given: Sequence[str]) -> Exception:
    """The error of a command line; of an unknown flag or a missing run with a line on it."""
    unknown: Any = error
    parameter = getattr(unknown, "param", None)
    if parameter is not None and parameter.name == "run" and "Missing" in error.format_message():
        from optimizer.cli.unknown import find_path

        here = find_path(unknown.ctx)
        return ConfigError(f"{here} needs a run: its id, its beginning, its path, or latest")
    # The library's own class of an unknown flag is private.
    if not hasattr(unknown, "possibilities"):
        return error
    from optimizer.cli.unknown import explain_flag

    return ConfigError(explain_flag(unknown.option_name, unknown.ctx, given))


class AnsweringGroup(TyperGroup):
    """Commands, of which an unknown name is answered in a line."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - the library's own
        """Call a command; where a second signal comes, the first one's answer is kept."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, StoppedError) as interrupt:
            error: BaseException | None = interrupt
            while error is not None and not isinstance(error, StoppedError):
                error = error.__context__
            if error is not None:
                ANSWERS.append(error)
            raise error or interrupt from None

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401 - the library's own
        """Find a command by its name."""
        command = super().get_command(ctx, cmd_name)
        if command is None and not ctx.resilient_parsing and not cmd_name.startswith("-"):
            from optimizer.cli.unknown import explain_command

            raise ConfigError(explain_command(cmd_name, ctx))
        return command


class _Program(AnsweringGroup):
    """The program, of whose commands only that which is named is imported."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - the library's own
        super().__init__(**attributes)
        self.commands = _Commands(dict.fromkeys(COMMANDS))


app = typer.Typer(
    name="optimizer",
    cls=_Program,
    callback=lambda: None,
    help="Find trading parameters by a genetic search, every trade checked against a reference.",
    epilog="Any command takes --debug, which shows the traceback of an error; --version says which "
    "version this is. The command is also installed as `optimizer`, whose words, flags, runs and "
    "strategies a shell completes after optimizer --install-completion.",
    context_settings={"max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
