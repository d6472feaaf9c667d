"""doctor: what this machine offers, and why a GPU is not used."""

import importlib.metadata

from data import load_bars
from data.cache import measure_cache
from data.vendor.account import tell_key
from engine.compiling.kept_code import kernels_folder, loops_folder
from engine.devices import BACKENDS, Choice, choose_backend
from engine.errors import DeviceError
from engine.gpus import describe_gpus
from engine.machine import available_cores, describe_processor, versions
from optimizer.commands.console import facts_table, print_json, stdout

OPTIONAL = ("triton", "polygon-api-client", "massive", "plotly", "distributed", "optuna")


def doctor_command(*, as_json: bool) -> None:
    """Print what was found."""
    choice = choose_backend("auto")
    bars = load_bars("sample")
    folder, series, size = measure_cache()
    facts: dict[str, object] = {
        "optimizer": _version("exhaustion-optimizer"),
        **versions(),
        **{name: _version(name) for name in ("torch", "pandas", "deap", "moocore", *OPTIONAL)},
        "processor": describe_processor(),
        "cores for this process": available_cores(),
        "backends": ", ".join(sorted(BACKENDS)),
        "device chosen by auto": _auto(choice),
        "GPU": describe_gpus(),
        "compiled loops": str(loops_folder() or "in memory only: no folder can be written"),
        "compiled kernels": _kernels(),
        "key of polygon": tell_key(),
        "cache of bars": f"{folder}, {series:,} series, {size / 1e6:.1f} MB",
        "sample": f"{len(bars):,} bars, hash {bars.content_hash[:12]}, as shipped",
    }
    if as_json:
        print_json(facts)
    else:
        stdout().print(facts_table(facts))


def _auto(choice: Choice) -> str:
    if choice.name == "cpu":
        return f"cpu ({choice.reason})"
    return f"{choice.label} for runs that take longer than a GPU to start, cpu for others"


def _kernels() -> str:
    try:
        return str(kernels_folder())
    except DeviceError as error:
        return str(error)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
