"""Where to evaluate, and with how much of the machine; none of it changes a result."""

from typing import Literal

from optimizer.config.knobs import Settings, knob
from optimizer.config.values import Device, MaybeBytes


class DeviceSettings(Settings):
    """Where to evaluate."""

    device: Device = knob(
        "auto",
        decides="nothing",
        description="Where to evaluate: auto, cpu, cuda for all GPUs, or cuda:0,1.",
    )
    on_gpu_loss: Literal["stop", "cpu"] = knob(
        "stop",
        decides="nothing",
        description="When a GPU fails after three restarts: stop, or go on with the CPU.",
    )


class ComputeSettings(Settings):
    """How much of a machine to use."""

    threads: int | None = knob(
        None, decides="nothing", ge=1, description="Cores to use; all of them if unset."
    )
    memory: MaybeBytes = knob(
        None,
        decides="nothing",
        ge=1,
        description="Most that indicator rows may take, such as 512MiB or 4GB; half of what is "
        "free on the device if unset.",
    )
