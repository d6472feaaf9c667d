"""Knobs of the device, the machine and the record; none changes a result."""

from optimizer.config.values import Device, Folder, Keep, MaybeBytes, Settings, Tags, knob


class DeviceSettings(Settings):
    """Where to evaluate."""

    device: Device = knob(
        "auto", "Where to evaluate: auto, cpu, cuda for all GPUs, or cuda:0,1.", decides="nothing"
    )


class ComputeSettings(Settings):
    """How much of a machine to use."""

    threads: int | None = knob(None, "Cores to use; all of them if unset.", decides="nothing", ge=1)
    memory: MaybeBytes = knob(
        None,
        "Most that indicator rows may take, such as 512MiB or 4GB; half of what is free on a host, "
        "and 0.65 of it on a GPU, if unset.",
        decides="nothing",
        ge=1,
    )


class RecordSettings(Settings):
    """The run store and the report."""

    runs: Folder = knob("runs", "Folder in which runs are recorded.", decides="nothing")
    keep: Keep = knob("all", "What to keep of older generations.", decides="nothing")
    report: bool = knob(True, "Write the report of a finished run.", decides="nothing")
    tags: Tags = knob(
        [], "A word to find the run by, as in runs list --tag; the flag repeats.", decides="nothing"
    )
