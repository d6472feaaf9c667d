"""Errors of the engine.

EngineError
├── GenomeError    genomes of the wrong shape, type or order
├── MemoryPlanError  one individual alone does not fit the memory that was allowed
└── DeviceError    the requested device is missing or failed
    └── DeviceLostError  it answers this process with errors only; another process may use it
"""


class EngineError(Exception):
    """The engine cannot do a task; the message has the cause, the place and a remedy."""

    exit_code = 2


class GenomeError(EngineError):
    """Genomes have the wrong shape or type, or are not legal for the strategy."""


class MemoryPlanError(EngineError):
    """One individual alone does not fit the memory that was allowed."""


class DeviceError(EngineError):
    """The requested device is missing or failed."""

    exit_code = 5


class DeviceLostError(DeviceError):
    """The device answers this process with errors only; another process may use it."""

    @classmethod
    def because(cls, reason: str) -> "DeviceLostError":
        """The sentence for a person; `reason` is the device's report or act."""
        return cls(
            f"the GPU failed ({reason}): a new process may use it, --device cpu does without"
        )
