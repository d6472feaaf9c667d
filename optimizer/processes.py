"""Processes that this one begins: one way for all, which leaves open folders alone.

A folder is open when it is the working folder, which may be a stranger's, or when others may put
files there: a file in it would stand for a module of a library, whatever its name.
"""

import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).parents[1])
"""Where our packages lie."""


def begin(
    module: str,
    *arguments: str,
    variables: Mapping[str, str] | None = None,
    **options: Any,  # noqa: ANN401 - those of Popen
) -> subprocess.Popen[bytes]:
    """Begin a process of Python that runs a module of ours.

    Args:
        module: Its name, with dots.
        arguments: Of its command line.
        variables: Of its environment, beside those of this process.
        options: As of `subprocess.Popen`.

    Raises:
        OSError: When the system begins none.
    """
    environment = {**os.environ, **(variables or {}), **safe_variables()}
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, env=environment, **options)


def safe_variables() -> dict[str, str]:
    """Variables under which Python finds the modules of this process, but none in open folders."""
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(_folders_of_child())}


def _folders_of_child() -> list[str]:
    """Where a child looks for modules: also for ours where this process found them."""
    ours = os.path.realpath(ROOT)
    folders = [ROOT if os.path.realpath(each) == ours else each for each in sys.path]
    # Ours is kept even as the working folder.
    kept = [each for each in folders if each == ROOT or not _is_open(each)]
    return list(dict.fromkeys([*kept, ROOT]))


def _is_open(folder: str) -> bool:
    """True if a folder is the working folder, or one in which others may write."""
    try:
        status = os.stat(folder or ".")
        return bool(status.st_mode & stat.S_IWOTH) or os.path.samestat(status, os.stat("."))
    except OSError:
        return False


def folders_of_own_modules() -> dict[str, str]:
    """Folders of modules that this process imported and that a child would not find, by name.

    A strategy may be defined in one: a person's script imported it from the folder it lies in.
    """
    searched, folders = {os.path.realpath(folder) for folder in _folders_of_child()}, {}
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if not isinstance(spec, ModuleSpec) or spec.name != name or "." in name:
            continue
        places = [*(spec.submodule_search_locations or ()), spec.has_location and spec.origin]
        if places[0]:
            folder = os.path.dirname(os.path.realpath(str(places[0])))
            if folder not in searched:
                folders[name] = folder
    return folders


class OwnModules:
    """Finds modules where another process found them, after all libraries.

    Args:
        folders: As of `folders_of_own_modules`.
    """

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = folders

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        folder = self._folders.get(name)
        return None if folder is None else PathFinder.find_spec(name, [folder])
