"""Files written whole: what a reader finds is the old content or the new, never a part."""

import contextlib
import os
from pathlib import Path

from optimizer.errors import OptimizerError


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file completely or not at all.

    Args:
        path: Target; an existing file is replaced.
        content: Its new content; text is written as UTF-8.

    Raises:
        OptimizerError: When it cannot be written; a file that was there is left as it was.
    """
    if not path.name or os.path.isdir(path):
        raise OptimizerError(f"{path} cannot be written: it is a folder, name a file")
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(draft, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise OptimizerError(f"{path} cannot be written: {error.strerror or error}") from None
