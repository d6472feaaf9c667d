"""Processor, cores and versions of this machine, asked without importing libraries."""

import os
import platform


def describe_processor() -> str:
    """Name of the processor and how many cores the system shows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    except OSError:
        names = []
    return f"{names[0]}, {len(names)} cores" if names else platform.processor() or "unknown"


def available_cores(asked: int | None = None) -> int:
    """Cores to use: the requested number, all that this process may use if None."""
    if asked is not None:
        return asked
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Versions of what computes numbers, and the platform."""
    by_package = {name: read_package_version(name) for name in ("numpy", "numba")}
    return {"python": platform.python_version(), **by_package, "platform": platform.platform()}


def read_package_version(package: str) -> str:
    """Version of an installed package, or the words ``not installed``."""
    # Only here: it takes as long as all else that help imports of ours.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
