"""Facts of this machine, or of each worker of a cluster."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from data import load_bars
from data.cache import measure_cache
from data.vendor.client import tell_key
from engine import ENGINE_VERSION
from engine.devices import BACKENDS, choose_backend
from engine.errors import DeviceError
from engine.runtime.compiling.cache_dirs import kernels_folder, loops_folder
from engine.runtime.gpus import describe_gpus
from engine.runtime.machine import (
    available_cores,
    describe_processor,
    read_package_version,
    versions,
)
from optimizer.cli.console import plain_table
from optimizer.run.indicator_cache import row_cache
from optimizer.search import SEARCH_VERSION

if TYPE_CHECKING:
    from optimizer.cluster.cluster import Measured

OPTIONAL = (
    "triton",
    "numba-cuda",
    "polygon-api-client",
    "massive",
    "plotly",
    "distributed",
    "optuna",
)


def collect_machine_facts() -> dict[str, object]:
    """Facts of this machine: names in words to values."""
    choice = choose_backend("auto")
    bars = load_bars("sample")
    folder, series, size = measure_cache()
    rows = row_cache()
    rows_size = rows.measure_bytes()
    return {
        "optimizer": read_package_version("exhaustion-optimizer"),
        "engine, search": f"version {ENGINE_VERSION}, version {SEARCH_VERSION}",
        **versions(),
        **{
            name: read_package_version(name)
            for name in ("torch", "pandas", "deap", "moocore", *OPTIONAL)
        },
        "processor": describe_processor(),
        "cores for this process": available_cores(),
        "backends": ", ".join(sorted(BACKENDS)),
        "device chosen by auto": f"cpu ({choice.reason})"
        if choice.name == "cpu"
        else f"{choice.label} for runs that take longer than a GPU to start, cpu for others",
        "GPU": describe_gpus(),
        "compiled loops": str(loops_folder() or "in memory only: no folder can be written"),
        "compiled kernels": _find_kernels(),
        "key of polygon": tell_key(),
        "cache of bars": f"{folder}, {series:,} series, {size / 1e6:.1f} MB",
        "rows of own indicators": f"{rows.root}, {rows_size / 1e6:.1f} MB",
        "sample": f"{len(bars):,} bars, hash {bars.content_hash[:12]}, as shipped",
    }


def build_workers_table(workers: "Sequence[Measured]") -> Table:
    """Workers of a cluster, a line each."""
    headings = ("worker", "device", "cores", "on host", "probe s", "latency ms", "MB/s", "fit")
    table = plain_table(*headings, is_folded=True)
    table.pad_edge = False
    for worker in workers:
        table.add_row(
            worker.name,
            worker.made.device,
            str(worker.made.cores),
            str(worker.share),
            f"{worker.made.seconds:.2f}",
            f"{1000 * worker.latency_s:.1f}",
            f"{worker.bytes_per_s / 1e6:,.0f}",
            ", ".join(worker.differs) or "yes",
        )
    return table


def _find_kernels() -> str:
    try:
        return str(kernels_folder())
    except DeviceError as error:
        return str(error)
