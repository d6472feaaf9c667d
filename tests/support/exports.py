"""Tasks whose members are exported, and their programs as modules."""

import pandas as pd

from optimizer.config.run_config import make_config
from optimizer.export.programs import build_program
from optimizer.run.task import prepare
from tests.support import examples


def build_task(strategy, market):
    """The task of a strategy on a market."""
    name = strategy if strategy.islower() else f"{examples.__file__}:{strategy}"
    return prepare(make_config({"strategy": name, "data": [f"csv:{market}"]}, where="test"))


def write_bars(bars, path):
    """Write bars as a file that a program reads."""
    names = ("open", "high", "low", "close", "volume")
    columns = {name: getattr(bars, name) for name in names}
    times = pd.to_datetime(bars.timestamp, utc=True) + pd.Timedelta("18262D")
    pd.DataFrame({"timestamp": times, **columns}).to_csv(path, index=False)


def run_program(task, platform):
    """The names of a program that was run, but for its main part."""
    text = build_program(task, task.spec.layout.defaults, "A try.", platform)
    names = {"__name__": "program"}
    exec(compile(text, "program", "exec"), names)
    return names
