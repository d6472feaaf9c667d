"""What a search begins with: its configuration, and its device, which starts while we go on.

A GPU's process imports and starts for seconds. It is begun before anything else is imported, so
that this module itself imports as little as it can.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from engine.backends.chosen import Device, choose_device
from optimizer.config import RunConfig, resolve_config
from optimizer.isolated import CHILD


class Beginning(NamedTuple):
    """What to do and where.

    Args:
        config: What was asked for.
        device: Where it is to be evaluated; in a process of its own it has been started.
    """

    config: RunConfig
    device: Device


def begin(config_file: Path | None, flags: Mapping[str, object]) -> Beginning:
    """Resolve a configuration and start its device.

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
    device = choose_device(config.device, on_loss=config.on_gpu_loss, module=CHILD)
    return Beginning(config, device)
