"""doctor: what this machine offers, and why a GPU is not used."""

import importlib.metadata
import importlib.util
import os

from data import load_bars
from engine.backends import BACKENDS, choose_backend
from engine.bench import describe_processor
from engine.parity import versions
from optimizer.commands.console import facts_table, stdout
from optimizer.commands.output import print_json

OPTIONAL = ("triton", "massive", "plotly", "distributed", "optuna")


def doctor_command(*, as_json: bool) -> None:
    """Print what was found."""
    choice = choose_backend("auto")
    bars = load_bars("sample")
    facts: dict[str, object] = {
        "optimizer": _version("exhaustion-optimizer"),
        **versions(),
        **{name: _version(name) for name in ("torch", "pandas", "deap", "moocore", *OPTIONAL)},
        "processor": describe_processor(),
        "cores for this process": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "backends": ", ".join(sorted(BACKENDS)),
        "device chosen by auto": f"{choice.name} ({choice.reason})",
        "GPU": _gpu(),
        "sample": f"{len(bars):,} bars, hash {bars.content_hash[:12]}, as shipped",
    }
    if as_json:
        print_json(facts)
    else:
        stdout().print(facts_table(facts))


def _gpu() -> str:
    """Whether torch sees a GPU, and why it is not used all the same."""
    if importlib.util.find_spec("torch") is None:
        return "not used: torch is not installed"
    import torch

    unused = "not used: this version has no CUDA backend"
    if not torch.cuda.is_available():
        built = torch.version.cuda or "no CUDA"
        return f"{unused}, and torch {torch.__version__} (built for {built}) sees none"
    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return f"{unused}; torch sees {', '.join(names)}"


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
