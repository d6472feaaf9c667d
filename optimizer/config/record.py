"""What is written of a run, and where."""

from typing import Literal

from optimizer.config.knobs import Settings, knob
from optimizer.config.values import Bytes, Folder


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
