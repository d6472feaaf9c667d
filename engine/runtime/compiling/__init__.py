"""Flags and caches of both compilers: numba for loops, Triton for kernels."""

import os

from engine.errors import EngineError

SETTINGS_OF_FOLDER = ".numba_config.yaml"

if os.path.lexists(SETTINGS_OF_FOLDER):
    # Before numba is imported: it would read them then, and once more whenever it compiles.
    raise EngineError(
        f"the working folder has a file {SETTINGS_OF_FOLDER}, which changes how numba compiles the "
        "engine: remove it, or work in another folder; your own settings are variables, NUMBA_..."
    )
