"""Small files that a person wrote: read whole, refused in one line when they are something else."""

import tomllib
from pathlib import Path

from optimizer.errors import ConfigError

LARGEST_FILE_BYTES = 1_000_000
"""A configuration is a page of text; anything larger is something else."""


def read_page(path: Path, otherwise: str) -> str:
    """Read a small text file.

    Args:
        path: File of at most `LARGEST_FILE_BYTES`; never read further, whatever size it claims.
        otherwise: What the error says that a larger one is.

    Returns:
        Its text.

    Raises:
        ConfigError: When it is larger.
        OSError, UnicodeDecodeError: When it cannot be read, or is not UTF-8.
    """
    with open(path, "rb") as file:
        content = file.read(LARGEST_FILE_BYTES + 1)
    if len(content) > LARGEST_FILE_BYTES:
        raise ConfigError(f"{path}: larger than {LARGEST_FILE_BYTES:,} bytes; {otherwise}")
    return content.decode("utf-8")


def read_toml(path: Path) -> dict[str, object]:
    """Read a TOML file.

    Args:
        path: A page of text.

    Returns:
        Its keys and values.

    Raises:
        ConfigError: When it cannot be read, or is no TOML.
    """
    try:
        if path.is_dir():
            raise ConfigError(f"{path}: is a folder; name a TOML file")
        return tomllib.loads(read_page(path, "no configuration"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not text; name a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deep for a configuration") from None
    except ValueError as error:
        # Whole numbers of thousands of digits are refused by Python itself.
        raise ConfigError(f"{path}: {error}") from None
