"""Makes the embedded sample: a simulated market with the habits of a real one.

Run it with ``python -m tests.support.sample_market``; it writes sample.parquet and sample.sha256 to
`data/sample`. The file, not this script, is what is loaded: another processor's ``exp`` may
differ in the last bit, the shipped bytes do not.

What it imitates stands in `data/sample/README.md`. Nothing in it is fitted to a real market.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from data.bars import Bars
from data.checks import VALUES, Floats
from data.providers.sample import FOLDER

Generator = np.random.Generator

SEED = 20_240_101
BARS = 35_040
BAR_NS = 900 * 10**9
BARS_A_DAY = 96
FIRST_NS = 1_704_067_200 * 10**9
STEPS = 15
"""Steps of the price inside a bar: one a minute."""

TICK = 0.01
FIRST_PRICE = 240.0
CALM_STEP = 0.0006
"""Standard deviation of one step's log return in a calm hour."""
OPEN_STEPS = 0.3
"""Distance of an open from the close before it, in standard deviations of a step."""

OUTAGES = (3, 5, 8, 13, 21, 34, 60)
"""Bars missing in a row, one entry an outage."""
SINGLE_GAPS = 120

REGIME_DRIFT = (0.0000105, -0.0000045, 0.0000032)
"""Mean log return of a step while the market goes up, down, sideways."""
REGIME_CHANGES = ((0.0, 0.45, 0.55), (0.5, 0.0, 0.5), (0.48, 0.52, 0.0))
REGIME_DAYS = (3.0, 12.0)
SELL_OFFS_A_DAY = (0.18, 0.85, 0.45)
"""Sell-offs begun a day, by regime."""
REVERSING_FRAC = 0.62
JUMPS_A_DAY = 0.12


@dataclass(frozen=True)
class Plan:
    """What happens in each bar, before chance moves the price.

    Args:
        drift: [T], mean log return of a bar beside chance.
        heat: [T], factor on volatility, 1 in a calm hour.
        crowd: [T], factor on volume beside what the price does.
        turn: [T], fraction of a standard move by which the second half of a bar answers the first.
    """

    drift: Floats
    heat: Floats
    crowd: Floats
    turn: Floats


def main() -> None:
    """Write the sample and its hashes to where they are shipped."""
    bars = simulate()
    columns = {
        "timestamp": pa.array(bars.timestamp, type=pa.timestamp("ns", tz="UTC")),
        **{name: getattr(bars, name) for name in VALUES},
    }
    path = FOLDER / "sample.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd", compression_level=19)
    file_hash = hashlib.sha256(path.read_bytes()).hexdigest()
    lines = f"{file_hash}  sample.parquet\n{bars.content_hash}  bars\n"
    (FOLDER / "sample.sha256").write_text(lines, encoding="utf-8")


def simulate(seed: int = SEED) -> Bars:
    """Invent the market: `BARS` bars of 15 minutes with gaps, prices on the tick, whole volumes."""
    rng = np.random.Generator(np.random.PCG64(seed))
    total = BARS + sum(OUTAGES) + SINGLE_GAPS
    regime = _draw_regimes(rng, total)
    plan = _plan(rng, regime)
    path = _walk(rng, plan)
    opening, high, low, close = _to_prices(rng, path)
    volume = _draw_volume(rng, plan, path)
    kept = _keep(rng, total)
    return Bars(
        timestamp=(FIRST_NS + np.arange(total, dtype=np.int64) * BAR_NS)[kept],
        open=opening[kept],
        high=high[kept],
        low=low[kept],
        close=close[kept],
        volume=volume[kept],
        symbol="SIMULATED",
        timeframe_ns=BAR_NS,
        source="sample",
        is_simulated=True,
    )


def _draw_regimes(rng: Generator, total: int) -> npt.NDArray[np.int64]:
    regime = np.empty(total, dtype=np.int64)
    at, now = 0, 2
    while at < total:
        length = int(BARS_A_DAY * rng.uniform(*REGIME_DAYS))
        regime[at : at + length] = now
        at += length
        now = int(rng.choice(3, p=REGIME_CHANGES[now]))
    return regime


def _plan(rng: Generator, regime: npt.NDArray[np.int64]) -> Plan:
    total = len(regime)
    drift = np.array(REGIME_DRIFT)[regime] * STEPS
    mood = _wander(rng, total, memory_bars=2 * BARS_A_DAY, spread=0.38)
    shock = _wander(rng, total, memory_bars=10, spread=0.25)
    heat = _rhythm(total) * np.exp(mood + shock)
    crowd = np.exp(_wander(rng, total, memory_bars=20, spread=0.32))
    plan = Plan(drift, heat, crowd, np.zeros(total))
    _add_jumps(rng, plan)
    likely = np.array(SELL_OFFS_A_DAY)[regime] / BARS_A_DAY
    starts = np.flatnonzero(rng.random(total) < likely)
    last_end = 0
    for start in starts:
        if start > last_end:
            last_end = _add_sell_off(rng, plan, int(start))
    return plan


def _wander(rng: Generator, total: int, *, memory_bars: float, spread: float) -> Floats:
    keep = 1 - 1 / memory_bars
    noise = rng.standard_normal(total) * spread * np.sqrt(1 - keep * keep)
    value, values = 0.0, np.empty(total)
    for t in range(total):
        value = keep * value + noise[t]
        values[t] = value
    return values


def _rhythm(total: int) -> Floats:
    day = np.arange(total) / BARS_A_DAY
    hour = 24 * (day % 1)
    bumps = 0.55 * np.exp(-(((hour - 14.5) / 2.6) ** 2)) + 0.3 * np.exp(-(((hour - 8) / 2.0) ** 2))
    weekend = np.isin(np.floor(day) % 7, (5, 6))
    rhythm: Floats = (0.78 + bumps) * np.where(weekend, 0.72, 1.0)
    return rhythm


def _add_jumps(rng: Generator, plan: Plan) -> None:
    total = len(plan.drift)
    for t in np.flatnonzero(rng.random(total) < JUMPS_A_DAY / BARS_A_DAY):
        plan.drift[t] += rng.standard_normal() * 0.006
        fading = np.exp(-np.arange(len(plan.heat[t : t + 24])) / 7)
        plan.heat[t : t + 24] *= 1 + 1.2 * fading
        plan.crowd[t : t + 24] *= 1 + 1.8 * fading


def _add_sell_off(rng: Generator, plan: Plan, start: int) -> int:
    total = len(plan.drift)
    fall, rest = int(rng.integers(4, 16)), int(rng.integers(8, 48))
    climax, end = start + fall, min(start + fall + rest, total)
    if climax + 2 >= total:
        return total
    depth = rng.uniform(0.008, 0.034)
    weight = np.linspace(0.4, 1.6, fall)
    plan.drift[start:climax] -= depth * weight / weight.sum()
    plan.heat[start:climax] *= np.linspace(1.1, 1.8, fall)
    plan.crowd[start:climax] *= np.linspace(1.1, 2.2, fall)
    length = int(rng.integers(1, 4))
    plan.heat[climax : climax + length] *= rng.uniform(1.6, 3.0)
    plan.crowd[climax : climax + length] *= rng.uniform(2.5, 6.0)
    plan.turn[climax : climax + length] = rng.uniform(0.0, 2.2)
    _add_aftermath(rng, plan, slice(climax + length, end), depth)
    return end


def _add_aftermath(rng: Generator, plan: Plan, after: slice, depth: float) -> None:
    length = len(plan.drift[after])
    if length == 0:
        return
    reverses = rng.random() < REVERSING_FRAC
    share = rng.uniform(0.3, 1.0) if reverses else -rng.uniform(0.05, 0.5)
    fading = np.exp(-np.arange(length) / (length / 2))
    plan.drift[after] += depth * share * fading / fading.sum()
    plan.heat[after] *= 1 + 0.8 * fading
    plan.crowd[after] *= 1 + 1.2 * fading


def _walk(rng: Generator, plan: Plan) -> Floats:
    total = len(plan.drift)
    noise = rng.standard_normal((total, STEPS)) * (CALM_STEP * plan.heat)[:, None]
    push = plan.turn * CALM_STEP * plan.heat * np.sqrt(STEPS) / (STEPS // 2)
    half = np.where(np.arange(STEPS) < STEPS // 2, -1.0, 1.0)
    step = noise + (plan.drift / STEPS)[:, None] + push[:, None] * half
    path: Floats = np.log(FIRST_PRICE) + np.cumsum(step.ravel()).reshape(total, STEPS)
    return path


def _to_prices(rng: Generator, path: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    before = np.concatenate(([np.log(FIRST_PRICE)], path[:-1, -1]))
    before += OPEN_STEPS * CALM_STEP * rng.standard_normal(len(path))
    whole = np.round(np.exp(np.column_stack((before, path))) / TICK)
    prices = np.round(whole * TICK, 2)
    return prices[:, 0], prices.max(axis=1), prices.min(axis=1), prices[:, -1]


def _draw_volume(rng: Generator, plan: Plan, path: Floats) -> Floats:
    spread = (path.max(axis=1) - path.min(axis=1)) / (CALM_STEP * np.sqrt(STEPS))
    noise = np.exp(0.35 * rng.standard_normal(len(path)))
    volume: Floats = np.round(900 * plan.crowd * spread**1.1 * noise)
    return volume


def _keep(rng: Generator, total: int) -> npt.NDArray[np.bool_]:
    kept = np.ones(total, dtype=np.bool_)
    room = total // len(OUTAGES)
    for number, length in enumerate(OUTAGES):
        start = number * room + int(rng.integers(BARS_A_DAY, room - BARS_A_DAY))
        kept[start : start + length] = False
    missing = rng.choice(np.flatnonzero(kept)[1:-1], SINGLE_GAPS, replace=False)
    kept[missing] = False
    return kept


if __name__ == "__main__":
    main()
