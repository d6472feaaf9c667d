"""Faults of a source, all of them, and oddities of bars that are legal.

`load_bars` stops at the first fault. Oddities are bars without volume, and prices that the bars
beside them do not support: jumps between a close and the next open, and wicks.

A trade across a jump has a result that no trader had. An open that differs by more than a quarter
from the close before is one. A smaller one is where bars around it do not move like it: it is ten
times as wide as an hour usually is, and the hour after it is as calm as any, as after a split, a
spin-off or a change of contract; news moves prices on. It also is where opens of that kind, after a
pause or without one, hardly ever leave the close before.

A high, low, open or close that prices leave and come back from at once is no price, if it lies five
times farther from its neighbours than any other of its week, or but for a few as far. Prices were
there where the bar's own volume is twice that of any other, as in a crash.
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from data.bars import Bars, Window
from data.checks import Flags, Floats, Ints, faults, format_time, repeats
from data.errors import DataError, WindowError, count_nouns, list_some
from data.hours import Gaps, list_gaps
from data.load import DEFAULTS, load_bars, widen_roundings
from data.providers import PROVIDERS, find_provider
from data.table import LoadOptions, RawTable
from data.timeframe import HOUR_NS, WEEK_NS

LEAST_JUMP_FRAC, JUMP_FRAC = 0.15, 0.25
"""Opens that differ less from the close before are no jumps; those that differ more are, whatever
bars around them do."""

MOST_SMALL_SHARE = 0.01
"""Share of bars that may open as far off as a small jump, or show so long a wick; beyond, such
prices are usual."""

USUAL_TIMES, CALM_SHARE, HOURS_AROUND = 10, 0.15, 30
"""A small jump is so many times the usual range of as many hours before and after it (longer bars
count as hours), and the hour after it has at most this share of the jump as its range."""

RARE_QUANTILE, RARE_TIMES = 0.99, 20
"""So many times what 99 in 100 opens of its kind differ at most, an open is a jump."""

WHOLE = (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 30, 40, 50, 100, 200, 500, 1000)
PLAIN_SPLITS = {Fraction(whole): 0.05 for whole in WHOLE}
ODD_SPLITS = {
    Fraction(*ratio): 0.01 for ratio in ((3, 2), (4, 3), (5, 4), (6, 5), (5, 2), (5, 3), (7, 2))
}
"""Shares that become of one, and how far the price of a night may lie beside it."""

FALSE_TIMES, FALSE_BARS, LAST_TIMES = 1.75, 3, 5
"""A price that is off by less may be one: crashes and spikes of indices reach 1.7 times. As far
off, for so few bars, there is no market; nor is the last close, so many times its open."""

FARTHER, MOST_ALIKE, LEAST_OTHERS = 5.0, 10, 5
"""So many times farther from its neighbours than any other of its week a price stands alone, set
aside others as far out: at most so many, and an eighth of the week's bars, of which there are at
least so many."""

WEEK_BARS = 32
"""Bars that open up to half a week before or after a bar are its week; at least so many each way,
where there are as many."""

TRUE_VOLUME = 2.0
"""So many times the volume of any other bar of its week, a far price was traded."""

MOST_TRIED, MOST_NAMED = 2000, 5
"""More far prices than the first, each held against its week, are usual; so many are named."""

BLOCK = 1 << 17
"""Bars that are looked at in one go, so that their columns stay in the processor's cache."""

LEAST_PERCENT, MOST_PERCENT = 0.01, 1000
"""Times beyond which a change is not written in percent."""

SHOWN_ROWS, MOST_SHOWN = 3, 5


class Wick(NamedTuple):
    """A high or a low that stands alone."""

    bar: int
    is_high: bool
    price: float
    beside: float  # the nearer price of its neighbours


class _Spike(NamedTuple):
    """Prices from one of a bar to one of the same or a later bar, which prices come back from."""

    bar: int
    end: int  # last bar, inclusive
    name: str  # the price at which it begins: open, high, low or close
    distance: float  # from the nearest price beside it
    line: str


class _Far(NamedTuple):
    """Places of a series at which prices move far, ascending."""

    opens: Ints  # [K] bars that open away from the close before
    steps: Ints  # [S] far moves: 2 * bar where its open is one, 2 * bar + 1 for its close
    wicks: Ints  # [H] bars with a far high or low


@dataclass(frozen=True)
class Inspection:
    """The bars of a source, None where they cannot be used, and all obstacles."""

    spec: str
    bars: Bars | None
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Quality:
    """Bars of a part of a series, silent ones among them, and gaps."""

    bars: int
    silent: int  # bars that have no volume
    gaps: Gaps  # steps longer than a bar that end in the part, without closed hours


def jumps_of(bars: Bars) -> tuple[str, ...]:
    """A line for each of the first prices that are none, and of the first jumps of a series."""
    far = _find_far(bars)
    with np.errstate(over="ignore", under="ignore"):
        spikes = _find_spikes(bars, far)
        ratio: Floats = bars.open[far.opens] / bars.close[far.opens - 1]
        ratio = np.maximum(ratio, np.finfo(np.float64).tiny)
    wide = np.maximum(ratio, 1 / ratio)
    is_jump = wide > 1 + JUMP_FRAC
    small = np.flatnonzero((wide > 1 + LEAST_JUMP_FRAC) & ~is_jump)
    if len(small) and len(small) <= max(1, MOST_SMALL_SHARE * len(bars)):
        is_jump[small] = _find_rare(bars, far, wide, small)
        for k in small[~is_jump[small]].tolist():
            is_jump[k] = _is_unlike(bars, int(far.opens[k]), float(ratio[k]))
    for run in (spike for spike in spikes if spike.name in ("open", "close")):
        is_jump &= (far.opens < run.bar) | (far.opens > run.end + 1)
    return (*_name_spikes(bars, spikes), *_describe_jumps(bars, far.opens[is_jump], ratio[is_jump]))


def find_wick(bars: Bars, start: int, end: int, bar: int) -> Wick | None:
    """The high or low of a bar, if it stands alone in its week among bars [start, end).

    How far out is the distance from the nearer of its neighbours' highs, or lows.
    """
    week = _find_week(bars, bar, start, end)
    sides, at = _measure_reach(bars, week, start, end), bar - week[0]
    others = np.delete(np.maximum(*(reach for reach, _ in sides)), at)
    for is_high, (reach, beside) in zip((True, False), sides, strict=True):
        if stands_alone(float(reach[at]), others, most_alike=0):
            prices = bars.high if is_high else bars.low
            return Wick(bar, is_high, float(prices[bar]), abs(float(beside[at])))
    return None


def stands_alone(distance: float, others: Floats, most_alike: int = MOST_ALIKE) -> bool:
    """True if a price lies far farther from its neighbours than the others of its week [N].

    Up to `most_alike` of them may lie as far out.
    """
    if len(others) < LEAST_OTHERS:
        return False
    few = min(most_alike, len(others) // 8) + 1
    largest = np.sort(np.partition(others, len(others) - few)[len(others) - few :])[::-1]
    nearer = np.minimum.accumulate(np.append(distance, largest[:-1]))
    return bool((nearer > FARTHER * np.maximum(largest, 0.0)).any())


def inspect_source(spec: str, options: LoadOptions = DEFAULTS) -> Inspection:
    """The bars of a source, or every kind of fault with its rows and the option that helps."""
    try:
        return Inspection(spec, load_bars(spec, options), ())
    except DataError as error:
        message = str(error)
    repairs = (options.dedupe, options.drop_bad_bars, options.sort, options.tick)
    problems: tuple[str, ...] = ()
    # Faults that a repair leaves are reported as loading reports them.
    if not any(repairs) and not options.price_offset:
        with suppress(DataError):
            provider, address = find_provider(spec)
            problems = _problems(provider.read(address, options))
    return Inspection(spec, None, problems if len(problems) > 1 else (message,))


def quirks_of(bars: Bars) -> tuple[str, ...]:
    """Oddities of a series, one line each."""
    silent, flat = bars.volume == 0, bars.high == bars.low
    lines = []
    if count := int(silent.sum()):
        edges = np.flatnonzero(np.diff(np.pad(silent.astype(np.int8), 1)))
        share, longest = f"{silent.mean():.1%}", (edges[1::2] - edges[::2]).max()
        named = count_nouns(count, "bar")
        lines.append(f"{named} without volume ({share}), at most {longest} in a row")
    if count := int(flat.sum()):
        lines.append(f"{count_nouns(count, 'bar')} whose high is the low ({flat.mean():.1%})")
    return (*lines, *jumps_of(bars))


def quality_of(bars: Bars, start: int = 0, end: int | None = None) -> Quality:
    """Measure bars [start, end) of a series, to its end where `end` is None.

    A gap belongs to the part that it ends in, so that the counts of parts add up.

    Raises:
        WindowError: When the range is empty or reaches beyond the series.
    """
    part = Window(0, start, len(bars) if end is None else end)
    if part.end > len(bars):
        raise WindowError(f"{bars.symbol} has {len(bars)} bars, not {part.end}")
    silent = int((bars.volume[part.start : part.end] == 0).sum())
    return Quality(len(part), silent, bars.gaps_in_open_hours(part.start, part.end))


def longest_gaps(bars: Bars, most: int = MOST_SHOWN) -> list[dict[str, object]]:
    """The longest gaps in open hours: the bars before and after, and how many miss."""
    gaps = bars.open_gaps or list_gaps(bars.timestamp, bars.timeframe_ns)
    inside = (gaps.starts_ns >= bars.timestamp[0]) & (gaps.ends_ns <= bars.timestamp[-1])
    longest = np.argsort(np.where(inside, gaps.starts_ns - gaps.ends_ns, 0), kind="stable")
    return [
        {
            "from": format_time(gaps.starts_ns[i]),
            "to": format_time(gaps.ends_ns[i]),
            "missing_bars": int(gaps.missing[i]),
        }
        for i in longest[: min(most, int(inside.sum()))].tolist()
    ]


def _find_far(bars: Bars) -> _Far:
    """Places at which prices move far, in blocks: a series may be as large as memory."""
    least = (1 + LEAST_JUMP_FRAC) ** (1 / RARE_TIMES)
    opens, steps, wicks = [], [], []
    with np.errstate(over="ignore"):
        for start in range(0, len(bars), BLOCK):
            block = slice(start, start + BLOCK)
            opening, close, high, low = (
                column[block] for column in (bars.open, bars.close, bars.high, bars.low)
            )
            before = np.append(bars.close[start - 1] if start else opening[0], close[:-1])
            leaves = np.flatnonzero((opening > least * before) | (before > least * opening))
            pair = np.sort((opening[leaves], before[leaves]), axis=0)
            top, bottom = np.maximum(opening, close), np.minimum(opening, close)
            inside = np.flatnonzero(top >= FALSE_TIMES * bottom)
            is_far = (high >= FALSE_TIMES * top) | (FALSE_TIMES * low <= bottom)
            moves = (2 * leaves[pair[1] >= FALSE_TIMES * pair[0]], 2 * inside + 1)
            opens.append(leaves + start)
            steps.append(np.sort(np.concatenate(moves)) + 2 * start)
            wicks.append(np.flatnonzero(is_far) + start)
    return _Far(*(np.concatenate(parts) for parts in (opens, steps, wicks)))


def _find_spikes(bars: Bars, far: _Far) -> list[_Spike]:
    """Prices that are none, by bar."""
    most = min(max(2 * MOST_ALIKE, MOST_SMALL_SHARE * len(bars)), MOST_TRIED)
    runs = _list_runs(bars, far.steps.tolist()) if len(far.steps) <= 2 * most else []
    taken = {bar for run in runs for bar in range(run.bar, run.end + 1)}
    wicks = set(far.wicks.tolist() if len(far.wicks) <= most else []) - taken
    bad = taken | wicks
    found = [*runs, *(spike for bar in wicks for spike in _list_wicks(bars, bar, bad))]
    return sorted(spike for spike in found if _is_false(bars, spike))


def _is_false(bars: Bars, spike: _Spike) -> bool:
    """True if prices far off stand alone, without a volume that shows trades."""
    week = first, end = _find_week(bars, spike.bar, 0, len(bars))
    numbers = np.arange(first, end)
    is_other = (numbers < spike.bar) | (numbers > spike.end)
    volume = bars.volume[first:end]
    traded = volume[~is_other].max()
    if traded > 0 and traded >= TRUE_VOLUME * volume[is_other].max(initial=0.0):
        return False
    reach = np.maximum(*(reach for reach, _ in _measure_reach(bars, week, 0, len(bars))))
    return stands_alone(spike.distance, reach[is_other])


def _list_runs(bars: Bars, steps: list[int]) -> list[_Spike]:
    """Prices from one far move to the next, within a few bars, which leads back."""
    runs: list[_Spike] = []
    left = list(reversed(steps))
    while len(left) > 1:
        step, back = left.pop(), left[-1]
        if back - step > 2 * FALSE_BARS:
            continue
        first = (step - 1) // 2
        around = slice(first, back // 2 + 1)
        path = np.stack((bars.open[around], bars.close[around]), axis=1).reshape(-1)
        before, *prices, after = path[step - 1 - 2 * first :][: 2 + back - step].tolist()
        low, high = sorted((before, after))
        distance = max(min(prices) - high, low - max(prices))
        if high < (1 + JUMP_FRAC) * low and distance > 0:
            runs.append(_describe_run(bars, step, back, distance, prices[0] / before))
            left.pop()
    last, (opening, close) = 2 * len(bars) - 1, (float(bars.open[-1]), float(bars.close[-1]))
    if left[-1:] == [last] and max(opening, close) >= LAST_TIMES * min(opening, close):
        runs.append(_describe_run(bars, last, last, abs(close - opening), close / opening))
    return runs


def _describe_run(bars: Bars, step: int, back: int, distance: float, times: float) -> _Spike:
    """Prices from a far move to the one that leads back; the same for the last close of all."""
    bar, end = step // 2, (back - 1) // 2
    later = f"that {end + 1 - bar} bars later"
    if back % 2:
        later = {bar: "its close", bar + 1: "the next close"}.get(end, "the close after that")
    elif end == bar:
        later = "the next open" if step % 2 else "the next"
    returns = "no bar follows it" if back == step else f"{later} is back"
    name, left = ("close", "its open") if step % 2 else ("open", "the close before")
    at = format_time(bars.timestamp[bar])
    line = f"the {name} of {at} is {times:.3g} times {left} and {returns}"
    return _Spike(bar, max(bar, end), name, distance, line)


def _list_wicks(bars: Bars, bar: int, bad: set[int]) -> list[_Spike]:
    """The high and the low of a bar that lie far from its open and close and the bars beside it."""
    ways = (range(bar - 1, -1, -1), range(bar + 1, len(bars)))
    sound = (next((other for other in way if other not in bad), None) for way in ways)
    beside = [other for other in sound if other is not None]
    opening, close = float(bars.open[bar]), float(bars.close[bar])
    found = []
    for name, column, nearest_of in (("high", bars.high, max), ("low", bars.low, min)):
        price = float(column[bar])
        nearest = nearest_of(opening, close, *column[beside].tolist())
        near, far = sorted((nearest, price))
        is_out = nearest_of(nearest, price) == price and far >= FALSE_TIMES * near
        if not is_out or far - near < FARTHER * abs(close - opening) or not beside:
            continue
        line = (
            f"the {name} of {format_time(bars.timestamp[bar])} is {price:.10g}, "
            f"{price / nearest:.3g} times its open and close, and no bar beside it comes near "
            f"({nearest:.10g})"
        )
        found.append(_Spike(bar, bar, name, far - near, line))
    return found


def _find_week(bars: Bars, bar: int, start: int, end: int) -> tuple[int, int]:
    """First bar of the week of a bar, and one past its last, among bars [start, end)."""
    times = bars.timestamp[start:end]
    around = (times[bar - start] - WEEK_NS // 2, times[bar - start] + WEEK_NS // 2 + 1)
    first, last = (start + int(at) for at in np.searchsorted(times, around))
    return max(min(first, bar - WEEK_BARS), start), min(max(last, bar + WEEK_BARS + 1), end)


def _measure_reach(
    bars: Bars, week: tuple[int, int], start: int, end: int
) -> list[tuple[Floats, Floats]]:
    """How far highs, then lows of a week lie out of both neighbours', and the nearer of these.

    Neighbours are those among bars [start, end).
    """
    first, last, edge = max(week[0] - 1, start), min(week[1] + 1, end), np.array([-np.inf])
    inside = slice(week[0] - first, week[1] - first)
    sides = []
    for prices in (bars.high[first:last], -bars.low[first:last]):
        beside = np.maximum(np.append(edge, prices[:-1]), np.append(prices[1:], edge))[inside]
        sides.append((np.where(np.isfinite(beside), prices[inside] - beside, 0.0), beside))
    return sides


def _name_spikes(bars: Bars, spikes: list[_Spike]) -> tuple[str, ...]:
    """Lines about prices that are none, and how a person takes them out."""
    provider = PROVIDERS.get(bars.source.partition(":")[0])
    is_fetched = provider is not None and not provider.endings
    how = f"{'data import keeps these bars as a file: ' if is_fetched else ''}delete its row"
    lines = [f"{spike.line}: no price, take it out ({how})" for spike in spikes[:MOST_NAMED]]
    if len(spikes) > MOST_NAMED:
        lines.append(f"{len(spikes) - MOST_NAMED:,} more such prices, {len(spikes):,} in all")
    return tuple(lines)


def _describe_jumps(bars: Bars, opens: Ints, ratio: Floats) -> tuple[str, ...]:
    """Lines about the opens of bars [K], so many times the close before each."""
    lines: list[str] = []
    for k, (bar, value) in enumerate(zip(opens.tolist(), ratio.tolist(), strict=True)):
        if k == MOST_NAMED:
            return (*lines, f"{len(opens) - k} more such opens")
        is_percent = LEAST_PERCENT <= value < MOST_PERCENT
        change = f"{value - 1:+.0%} from" if is_percent else f"{value:.3g} times"
        is_back = k + 1 < len(opens) and opens[k + 1] - bar <= FALSE_BARS
        is_back = is_back and 1 / (1 + JUMP_FRAC) < value * float(ratio[k + 1]) < 1 + JUMP_FRAC
        what = "" if is_back else _name_split(value, is_calm=_is_calm(bars, bar, value))
        at = format_time(bars.timestamp[bar])
        lines.append(f"the open of {at} is {change} the close before{what}")
    return tuple(lines)


def _find_rare(bars: Bars, far: _Far, wide: Floats, small: Ints) -> Flags:
    """Flags [N] of small jumps far wider than opens of their kind, after a pause or without.

    `wide` are the opens of `far`: all that are not next to nothing beside a small jump.
    """
    is_pause = bars.timestamp[far.opens] - bars.timestamp[far.opens - 1] > bars.timeframe_ns
    pauses = int((np.diff(bars.timestamp) > bars.timeframe_ns).sum())
    rare = np.zeros(len(small), dtype=np.bool_)
    for kind, count in ((is_pause, pauses), (~is_pause, len(bars) - 1 - pauses)):
        limits = wide[small] ** (1 / RARE_TIMES)
        usual = np.sort(wide[kind])
        wider = len(usual) - np.searchsorted(usual, limits)
        rare |= kind[small] & (wider <= (1 - RARE_QUANTILE) * (count - 1))
    return rare


def _is_unlike(bars: Bars, bar: int, ratio: float) -> bool:
    """True if a jump is far wider than the hours around it, with a calm hour after it."""
    hour = _bars_an_hour(bars)
    starts = [
        *range(bar - hour, max(bar - 1 - HOURS_AROUND * hour, -1), -hour),
        *range(bar, min(bar - 1 + HOURS_AROUND * hour, len(bars)), hour),
    ]
    usual = np.median([_log_range(bars, start, start + hour) for start in starts])
    return bool(abs(np.log(ratio)) >= USUAL_TIMES * usual) and _is_calm(bars, bar, ratio)


def _is_calm(bars: Bars, bar: int, ratio: float) -> bool:
    """True if the hour from a jump on has a small part of its width as range."""
    after = _log_range(bars, bar, bar + _bars_an_hour(bars))
    return bool(after <= CALM_SHARE * abs(np.log(ratio)))


def _log_range(bars: Bars, start: int, end: int) -> float:
    high, low = bars.high[start:end].max(), bars.low[start:end].min()
    return float(np.log(high) - np.log(low))


def _bars_an_hour(bars: Bars) -> int:
    return max(HOUR_NS // bars.timeframe_ns, 1)


def _name_split(ratio: float, *, is_calm: bool) -> str:
    """A remark on the likely cause of a jump; calm bars must follow any but a plain split."""
    for split, tolerance in (PLAIN_SPLITS | (ODD_SPLITS if is_calm else {})).items():
        for times, shares in ((ratio * float(split), split), (ratio / float(split), 1 / split)):
            if abs(times - 1) < tolerance:
                made = f"{shares.numerator}:{shares.denominator}"
                return f", as a {made} split makes that is not adjusted for"
    return ", as a split or a spin-off makes that is not adjusted for" if is_calm else ""


def _problems(table: RawTable) -> tuple[str, ...]:
    """A line for each kind of fault, with its first rows and the option against it."""
    values, _ = widen_roundings(table.values)
    same_time, same_row = repeats(table.timestamp, table.values)
    kinds = [
        (*fault, "--drop-bad-bars") for fault in faults(table.timestamp, values, time.time_ns())
    ]
    kinds += [
        ("earlier than the row before", np.append(False, np.diff(table.timestamp) < 0), "--sort"),
        ("equal to the row before", same_row, "--dedupe"),
        (
            "with the time of the row before, but other values",
            same_time & ~same_row,
            "correct the file",
        ),
    ]
    lines = []
    for what, bad, remedy in kinds:
        rows = np.flatnonzero(bad)
        first = (f"{i} ({format_time(table.timestamp[i])})" for i in rows[:SHOWN_ROWS].tolist())
        if len(rows):
            count = count_nouns(len(rows), "row")
            lines.append(f"{count} {what}: {list_some(first, len(rows))}; {remedy}")
    return tuple(lines)
