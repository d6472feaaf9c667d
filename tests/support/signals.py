"""A recorded run whose file of bars grows, and the clock at its newest close."""

import json
from pathlib import Path

import numpy as np

from data import load_bars
from data.bars import Window
from optimizer.signals.account import ChainAccount, TradeChain
from optimizer.signals.source import SignalSource
from optimizer.signals.state import read_states
from tests.support.commands import market_columns
from tests.support.references import compiled_reference
from tests.support.runs import record_run
from tests.support.series import csv_text

SETTINGS = {
    "bounds": {
        "ema_fast": [8, 20], "ema_slow": [30, 90], "z_window": [30, 90], "atr_window": [8, 30],
        "max_hold": [4, 20], "vol_z_min": [0.5, 0.6], "tr_z_min": [0.3, 0.4],
        "close_location_min": [0.3, 0.4], "atr_stop_mult": [1.0, 3.0],
    },
    "scale_lengths": False,
}  # fmt: skip
"""Of a run whose members trade often."""

OFTEN = (
    "--no-scale-lengths",
    *(f"--bound={gene}={low}:{high}" for gene, (low, high) in SETTINGS["bounds"].items()),
)
"""The same as flags."""


def grow(count):
    """Let the file of bars in this folder hold so many of a longer market."""
    columns = market_columns(3, 4000, jump=0.05)
    Path("bars.csv").write_text(
        csv_text({name: column[:count] for name, column in columns.items()})
    )


def read_state(spec, bars, costs):
    """The state of a strategy's defaults on bars that end now, as it is sent."""
    window, genome = Window.whole(bars), spec.layout.defaults
    reference = compiled_reference(spec, [bars], [window], costs)
    account = ChainAccount(reference, (window,), ((window,),))
    chain = TradeChain("X", 0, bars, 0, True, 0)
    now_ns = int(bars.over_ns[-1])
    (state,) = read_states(account, genome, [chain], account.trade(genome), now_ns)
    json.dumps(state.payload(), allow_nan=False)
    return state


class GrowingMarket:
    """Files of bars that are cut anywhere, and a run on their first ones.

    Args:
        folder: Where files and runs lie.
        length: Bars that there are in the end.
        searched: Bars that the run knows.
        names: Of files, a symbol each.
        settings: Of the run, beside `SETTINGS`.
    """

    def __init__(self, folder, length=1600, searched=1200, names=("bars",), **settings):
        markets = [market_columns(seed, length, jump=0.05) for seed, _ in enumerate(names, 3)]
        self._markets = {folder / f"{name}.csv": m for name, m in zip(names, markets, strict=True)}
        self.file, self.columns = next(iter(self._markets.items()))
        self.step_ns = int(np.diff(self.columns["timestamp"])[0])
        self.write(searched)
        named = {"data": [f"csv:{file}" for file in self._markets], **SETTINGS, **settings}
        self.path = record_run(folder / "runs", **named)

    def write(self, count, **changes):
        """Let the first file hold so many bars, columns replaced by `changes`, others as long."""
        last = self.columns["timestamp"][count - 1]
        for file, columns in self._markets.items():
            length = int(np.searchsorted(columns["timestamp"], last, side="right"))
            changed = {**columns, **changes}.items()
            file.write_text(csv_text({name: column[:length] for name, column in changed}))
        return self.find_close(count)

    def find_close(self, count):
        """When the last of so many bars closes, nanoseconds UTC."""
        return int(self.columns["timestamp"][count - 1]) + self.step_ns

    def load(self):
        """Bars of all files as they are written now."""
        return [load_bars(f"csv:{file}") for file in self._markets]

    def source(self, member=None, *, may_search=True, **flags):
        """Its states."""
        return SignalSource(self.path, member, flags, may_search=may_search)
