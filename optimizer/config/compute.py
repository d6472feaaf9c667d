"""Where to evaluate, with how much of the machine, what is recorded; none changes a result."""

from typing import Literal

from optimizer.config.values import Bytes, Device, Folder, MaybeBytes, Settings, knob


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


class RecordSettings(Settings):
    """The run store and the report."""

    runs: Folder = knob("runs", decides="nothing", description="Folder in which runs are recorded.")
    keep: Literal["all", "front", "last"] = knob(
        "all", decides="nothing", description="What to keep of older generations."
    )
    budget: Bytes = knob(
        1_000_000_000,
        decides="nothing",
        ge=0,
        description="Room for populations; the oldest give way to newer ones.",
    )
    report: bool = knob(True, decides="nothing", description="Write the report of a finished run.")
