"""Settings of a forecast."""

from typing import Annotated, Literal, Self

from pydantic import model_validator

from engine.runtime.machine import available_cores
from optimizer.config.values import Settings, Words, knob
from optimizer.errors import ConfigError

SIMPLE = ("naive", "ridge")
"""The mean of the targets trained on, and a shrunk line through all features of the window."""


class ForecastSettings(Settings):
    """All that decides a forecast beside bars and code."""

    # Those that are not simple are networks, as `engine.forecasts.training` has them.
    model: Literal["naive", "ridge", "gru", "tcn", "lstm", "attention"] = knob(
        "gru", "What forecasts."
    )
    horizon: int = knob(4, "Bars ahead.", ge=1, le=10_000)
    window: int = knob(32, "Bars that a model sees.", ge=1, le=4096)
    train: int = knob(
        8000, "Bars before a refit to train on.", flag="--train-bars", ge=100, le=10_000_000
    )
    refit: int = knob(4000, "Bars from one refit to the next.", ge=1, le=10_000_000)
    features: str = knob(
        "returns, range, volume, calendar", "Names, and rows such as rsi(close, 14) / 100."
    )
    target: Literal["scaled", "return"] = knob(
        "scaled", "The return over the horizon, in its deviations or not."
    )
    seeds: int = knob(2, "Networks of each refit, which are averaged.", ge=1, le=1000)
    seed: int = knob(1, "Of the first network.", ge=0, le=2**62)
    hidden: int = knob(16, "Units of a network, an even number.", ge=2, le=4096)
    steps: int = knob(
        200, "Steps of training; always so many.", flag="--training-steps", ge=1, le=1_000_000
    )
    batch: int = knob(128, "Windows of a network in a step.", ge=1, le=1_000_000)
    stack: int = knob(
        0,
        "Networks trained side by side, part of what decides bits; 0 is 16 on a CPU, 64 on a GPU.",
        ge=0,
        le=100_000,
    )
    is_bf16: bool = knob(False, "Products in bfloat16; on a GPU.", flag="--bf16")
    device: Annotated[str, Words("cpu, cuda or cuda:N", "cpu|cuda|cuda:N")] = knob(
        "cpu", "Where networks are trained."
    )
    threads: int = knob(1, "Of the CPU; they decide the last bits.", ge=1, le=4096)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.hidden % 2:
            raise ConfigError(f"--hidden {self.hidden}: an even number is needed")
        if self.train < 4 * self.horizon:
            raise ConfigError(
                f"--train-bars {self.train} is too little for --horizon {self.horizon}: four "
                "horizons are needed"
            )
        if self.is_bf16 and self.device == "cpu":
            raise ConfigError("--bf16 is for a GPU: add --device cuda")
        if self.threads > available_cores():
            raise ConfigError(f"--threads {self.threads}: this machine has {available_cores()}")
        if not self.stack:
            object.__setattr__(self, "stack", 16 if self.device == "cpu" else 64)
        return self

    @property
    def is_network(self) -> bool:
        """True if it is trained by steps."""
        return self.model not in SIMPLE
