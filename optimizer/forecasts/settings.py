"""Settings of a forecast."""

from dataclasses import asdict, dataclass, field, fields
from typing import TypeVar

from data.errors import near_match
from data.plain import fit_fields
from engine.runtime.machine import available_cores
from optimizer.errors import ConfigError

Value = TypeVar("Value", str, int, bool)

SIMPLE = ("naive", "ridge")
"""The mean of the targets trained on, and a shrunk line through all features of the window."""

MODELS = (*SIMPLE, "gru", "tcn", "lstm", "attention")
"""All models; those that are not simple are networks, as `engine.forecasts.training` has them."""

TARGETS = ("scaled", "return")
"""The return over the horizon, in standard deviations of such returns or as a fraction."""

DEFAULT_FEATURES = "returns, range, volume, calendar"


def _knob(default: Value, text: str, form: str, low: int = 0, high: int = 0) -> Value:
    """A field: its default, the help of its flag, what stands behind it, and its limits."""
    metadata = {"text": text, "form": form, "low": low, "high": high}
    knob: Value = field(default=default, metadata=metadata)
    return knob


@dataclass(frozen=True)
class ForecastSettings:
    """All that decides a forecast beside bars and code; an error names the flag."""

    model: str = _knob("gru", "What forecasts.", "|".join(MODELS))
    horizon: int = _knob(4, "Bars ahead.", "BARS", 1, 10_000)
    window: int = _knob(32, "Bars that a model sees.", "BARS", 1, 4096)
    train: int = _knob(8000, "Bars before a refit to train on.", "BARS", 100, 10_000_000)
    refit: int = _knob(4000, "Bars from one refit to the next.", "BARS", 1, 10_000_000)
    features: str = _knob(
        DEFAULT_FEATURES, "Names, and rows such as rsi(close, 14) / 100.", "FEATURES"
    )
    target: str = _knob(
        "scaled", "The return over the horizon, in its deviations or not.", "|".join(TARGETS)
    )
    seeds: int = _knob(2, "Networks of each refit, which are averaged.", "COUNT", 1, 1000)
    seed: int = _knob(1, "Of the first network.", "NUMBER", 0, 2**62)
    hidden: int = _knob(16, "Units of a network, an even number.", "COUNT", 2, 4096)
    steps: int = _knob(200, "Steps of training; always so many.", "COUNT", 1, 1_000_000)
    batch: int = _knob(128, "Windows of a network in a step.", "COUNT", 1, 1_000_000)
    stack: int = _knob(
        0,
        "Networks trained side by side, part of what decides bits; 0 is 16 on a CPU, 64 on a GPU.",
        "COUNT",
        0,
        100_000,
    )
    is_bf16: bool = _knob(False, "Products in bfloat16; on a GPU.", "")
    device: str = _knob("cpu", "Where networks are trained.", "cpu|cuda|cuda:N")
    threads: int = _knob(1, "Of the CPU; they decide the last bits.", "COUNT", 1, 4096)

    def __post_init__(self) -> None:
        fit_fields(self, ConfigError)
        for knob in fields(self):
            value, low, high = getattr(self, knob.name), knob.metadata["low"], knob.metadata["high"]
            if high and not low <= value <= high:
                flag = format_flag(knob.name)
                raise ConfigError(
                    f"{flag} {value}: a whole number from {low:,} to {high:,} is needed"
                )
        for name, known in (("model", MODELS), ("target", TARGETS)):
            if (value := getattr(self, name)) not in known:
                hint = near_match(value, known)
                raise ConfigError(f"--{name} '{value}' is unknown: use {', '.join(known)}{hint}")
        if self.hidden % 2:
            raise ConfigError(f"--hidden {self.hidden}: an even number is needed")
        if self.train < 4 * self.horizon:
            raise ConfigError(
                f"--train-bars {self.train} is too little for --horizon {self.horizon}: four "
                "horizons are needed"
            )
        if self.is_bf16 and self.device == "cpu":
            raise ConfigError("--bf16 is for a GPU: add --device cuda")
        if not self.stack:
            object.__setattr__(self, "stack", 16 if self.device == "cpu" else 64)
        if self.threads > available_cores():
            raise ConfigError(f"--threads {self.threads}: this machine has {available_cores()}")

    @property
    def is_network(self) -> bool:
        """True if it is trained by steps."""
        return self.model not in SIMPLE

    def as_dict(self) -> dict[str, str | int | bool]:
        """Settings as a record keeps them."""
        return asdict(self)


def format_flag(name: str) -> str:
    """The flag of a field; a word that other commands have in another sense has a longer one.

    >>> format_flag("is_bf16"), format_flag("train")
    ('--bf16', '--train-bars')
    """
    longer = {"train": "train-bars", "steps": "training-steps"}
    return f"--{longer.get(name, name).removeprefix('is_')}"
