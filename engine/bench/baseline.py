"""Where the field starts from: tensors for each length, a Python loop for each individual.

Not part of any engine. Its sums run in another order than the law's, so that its trades are about
the same and its bits are not; it is timed, not verified.
"""

import torch

from data.bars import Bars
from engine.costs import Costs
from strategy.genes import Floats
from strategy.spec import StrategySpec

Row = torch.Tensor


class Baseline:
    """Seller exhaustion as it is usually written with tensors.

    Args:
        spec: Seller exhaustion; its genes are read by name.
        bars: One series, the whole of it.
        costs: Costs and risk rules.
        device: Name of a device to torch.
    """

    def __init__(self, spec: StrategySpec, bars: Bars, costs: Costs, device: str) -> None:
        self._spec, self._costs, self._bars = spec, costs, bars
        names = ("open", "high", "low", "close", "volume")
        self._columns = {name: torch.tensor(getattr(bars, name), device=device) for name in names}
        high, low, close = (self._columns[name] for name in ("high", "low", "close"))
        self._ranges = high - low
        reach = torch.maximum((high[1:] - close[:-1]).abs(), (low[1:] - close[:-1]).abs())
        self._ranges[1:] = torch.maximum(self._ranges[1:], reach)
        self._location = (close - low) / (high - low)
        self._rows: dict[tuple[str, int], Row] = {}

    def evaluate(self, genomes: Floats) -> list[float]:
        """Sum of R of each individual [P]."""
        return [self._sum_r(self._spec.layout.decode(genome)) for genome in genomes]

    def _row(self, kind: str, length: int) -> Row:
        key = (kind, length)
        if key not in self._rows:
            make = {
                "ema": self._ema,
                "volume": self._score,
                "range": self._score,
                "atr": self._mean,
            }
            source = {"ema": self._columns["close"], "volume": self._columns["volume"]}
            self._rows[key] = make[kind](source.get(kind, self._ranges), length)
        return self._rows[key]

    def _ema(self, values: Row, length: int) -> Row:
        alpha, average = 2.0 / (length + 1.0), float(values[0])
        out = torch.empty_like(values)
        for t, value in enumerate(values.tolist()):
            average += alpha * (value - average)
            out[t] = average
        return out

    def _mean(self, values: Row, length: int) -> Row:
        out = torch.full_like(values, torch.nan)
        if length > len(values):
            return out
        out[length - 1 :] = values.unfold(0, length, 1).mean(1)
        return out

    def _score(self, values: Row, length: int) -> Row:
        out = torch.full_like(values, torch.nan)
        if length > len(values):
            return out
        windows = values.unfold(0, length, 1)
        spread = windows.std(1, correction=0)
        out[length - 1 :] = (values[length - 1 :] - windows.mean(1)) / spread
        return out

    def _sum_r(self, genes: dict[str, int | float]) -> float:
        fast, slow, wide = (int(genes[name]) for name in ("ema_fast", "ema_slow", "z_window"))
        signal = (
            (self._row("ema", fast) < self._row("ema", slow))
            & (self._row("volume", wide) > genes["vol_z_min"])
            & (self._row("range", wide) > genes["tr_z_min"])
            & (self._location > genes["close_location_min"])
        )
        signal[: max(fast, slow, wide, int(genes["atr_window"])) - 1] = False
        atr = self._row("atr", int(genes["atr_window"])).tolist()
        bars, total, flat_from = self._bars, 0.0, 0
        for t in signal.nonzero().ravel().tolist():
            if t < flat_from or t + 1 >= len(bars):
                continue
            entry = float(bars.open[t + 1])
            stop = float(bars.low[t]) - genes["atr_stop_mult"] * atr[t]
            risk = entry - stop
            if risk <= entry * self._costs.min_risk:
                continue
            target = entry + genes["reward_r"] * risk
            last = min(t + int(genes["max_hold"]), len(bars) - 1)
            flat_from, price = last, float(bars.close[last])
            for j in range(t + 1, last + 1):
                if bars.low[j] <= stop:
                    flat_from, price = j, min(stop, float(bars.open[j]))
                    break
                if bars.high[j] >= target:
                    flat_from, price = j, target
                    break
            total += (price - entry - self._costs.per_side * (entry + price)) / risk
        return total
