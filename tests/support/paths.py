"""Where this checkout is, and how a process of its own finds it."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]

FINDS = {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
"""Environment of a process that imports this checkout, and what this process may import."""
