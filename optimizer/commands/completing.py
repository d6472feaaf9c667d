"""What a shell may complete after a flag: runs, strategies, and the choices of a knob."""

from collections.abc import Callable, Sequence
from pathlib import Path

import typer


def run_names(context: typer.Context, incomplete: str) -> list[str]:
    """Runs that begin so, newest first, in the folder that was named."""
    from optimizer.runs.listing import run_folders

    folder = Path(str(context.params.get("runs") or "runs"))
    names = ["latest", *sorted((path.name for path in run_folders(folder)), reverse=True)]
    return [name for name in names if name.startswith(incomplete)]


def strategy_names(incomplete: str) -> list[str]:
    """Strategies that begin so; a shell adds files by itself where none does."""
    from strategy import STRATEGIES

    return [name for name in STRATEGIES if name.startswith(incomplete)]


def among(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """Those of some words that begin so."""

    def completions(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    return completions
