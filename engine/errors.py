"""Errors of the engine.

EngineError
├── GenomeError    genomes of the wrong shape, type or order
├── MemoryPlanError  one individual alone does not fit the memory that was allowed
└── DeviceError    the device that was asked for is not there or failed
    └── DeviceLostError  it answers this process with errors only; another process may use it
"""


class EngineError(Exception):
    """The engine cannot do what was asked; the message has what, where and a remedy."""

    exit_code = 2


class GenomeError(EngineError):
    """Genomes have the wrong shape or type, or are not legal for the strategy."""


class MemoryPlanError(EngineError):
    """One individual alone does not fit the memory that was allowed."""


class DeviceError(EngineError):
    """The device that was asked for is not there or failed."""

    exit_code = 5


class DeviceLostError(DeviceError):
    """The device answers this process with errors only; another process may use it."""

    @classmethod
    def because(cls, reason: str) -> "DeviceLostError":
        """The sentence for a person; `reason` is what the device reported or did."""
        return cls(
            f"the GPU failed ({reason}): a new process may use it, --device cpu does without"
        )
