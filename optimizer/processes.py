"""Processes that this one begins: their command, and the modules that they import."""

import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[1])
"""Where our packages lie."""


def python_command(module: str, *arguments: str) -> list[str]:
    """Command of a Python process that runs a module and imports nothing of its working folder."""
    return [sys.executable, "-P", "-m", module, *arguments]


def child_environment(**variables: str) -> dict[str, str]:
    """Environment in which a child finds the modules of this process, its folder's last.

    A file of the folder that a child works in stands for no module of a library, whatever its
    name; a strategy that was defined in a module there is still found.
    """
    here = ("", os.getcwd())
    folders = [folder for folder in sys.path if folder not in here]
    ordered = [*folders, ROOT, *(os.getcwd() for folder in sys.path if folder in here)]
    return {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(dict.fromkeys(ordered))}
