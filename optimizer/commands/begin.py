"""What a search begins with: its configuration and its device."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from engine.devices import Device, choose_device
from optimizer.config.run_config import RunConfig, resolve_config


class Beginning(NamedTuple):
    """What to do and where.

    Args:
        config: What was asked for.
        device: Where it is to be evaluated.
    """

    config: RunConfig
    device: Device


def begin(config_file: Path | None, flags: Mapping[str, object]) -> Beginning:
    """Resolve a configuration and choose its device.

    Args:
        config_file: TOML file; flags win over it.
        flags: By field.

    Returns:
        Both.

    Raises:
        ConfigError: As `resolve_config`.
        DeviceError: When the device is not there.
    """
    config = resolve_config(config_file, flags)
    return Beginning(config, choose_device(config.device))
