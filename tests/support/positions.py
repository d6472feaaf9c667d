"""Worlds of signals and orders for both engines' positions, and the answers of each."""

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from engine.accounts.reference import fold_ledger, take_turns
from engine.accounts.stake import plain_stake
from engine.conditions.cpu.expression_vm import LEAF
from engine.positions.cpu.batch import begin_population, collect_trades
from engine.positions.cpu.block_minmax import build_extremes
from engine.positions.cpu.both_sides import Charges, CodedPopulation, session_exits
from engine.positions.cpu.listing import fold_alone, list_totals, list_trades
from engine.positions.exit_spec import (
    BEYOND_BAR,
    FROM_ENTRY,
    LEVEL,
    MINUTE_NS,
    NONE,
    R_MULTIPLE,
    SHARE,
    Limits,
    build_clock,
    build_form,
    build_plan,
    build_tables,
)
from engine.positions.reference import (
    find_signal_range,
    take_signals,
)
from engine.positions.reference_orders import NEVER, SignalSpan, begin_book
from engine.positions.reference_trades import begin_trades, build_ledger
from engine.positions.reference_world import build_world
from engine.replay.parity import compare_accumulators, compare_ledgers
from engine.runtime.cpu.threads import Threads
from tests.support.worlds import markets

THREADS = {count: Threads(count) for count in (1, 2)}


@dataclass(frozen=True)
class Ask:
    """What one individual asks of a series; pairs are longs and shorts.

    Args:
        entries: Bools [T] of each side.
        exits: Bools [T] of each side, or None.
        stops: (form, number, row or None) of each side; targets and trails likewise.
        after: Of each side.
        break_even: NaN: never.
        max_hold: Bars; 0: no limit.
        delay: Bars.
        session: (minute, offset in minutes); None: not left by the clock.
        warm_up: First bar that may signal.
    """

    entries: tuple
    stops: tuple
    exits: tuple = (None, None)
    targets: tuple = ((NONE, 0.0, None),) * 2
    trails: tuple = ((NONE, 0.0, None),) * 2
    after: tuple = (0.0, 0.0)
    break_even: float = float("nan")
    max_hold: int = 0
    delay: int = 0
    session: tuple | None = None
    warm_up: int = 0


def session_clock(bars, ask):
    """When a session ends positions, by a minute and an offset in minutes; never without one."""
    if ask.session is None:
        return build_clock(bars.timeframe_ns)
    minute, offset = ask.session
    return build_clock(bars.timeframe_ns, bars.timestamp + offset * MINUTE_NS, minute)


def by_reference(bars, ask, costs, window, form):
    """The ledger of one window [start, end), by the readable walk in one of its forms."""
    prices = np.array([bars.open, bars.high, bars.low, bars.close])
    clock = session_clock(bars, ask)
    longs, shorts = (
        build_plan(
            side,
            ask.entries[i],
            build_form(*ask.stops[i]),
            exits=ask.exits[i],
            target=build_form(*ask.targets[i]),
            trail=build_form(*ask.trails[i]),
            after=ask.after[i],
        )
        for i, side in enumerate((1, -1))
    )
    limits = Limits(ask.break_even, ask.max_hold, ask.delay, costs.per_side, costs.min_risk)
    signals = find_signal_range(*window, ask.warm_up, limits)
    world = build_world(prices, clock, longs, shorts, limits, build_tables())
    span = SignalSpan(signals.start, signals.stop, window[1])
    book, trades = begin_book(world), begin_trades(world, span)
    form(take_signals)(world, span, book, trades, NEVER)
    return build_ledger(trades, book.counts)


def pack_words(holds):
    """Bars [T] that hold something as words; bits behind the last bar are 0."""
    padded = np.pad(holds, (0, -len(holds) % 64))
    return np.packbits(padded, bitorder="little").view("<u8").astype(np.uint64)


def build_population(bars, asks):
    """Individuals that share forms, as the batch engine of the CPU takes them.

    Also their rows [R, T], and which of them each one's stop, target and trail read [P, 3, 2].
    """
    words, rows, sessions = [], [], []

    def count_placed(found, made):
        found.append(made)
        return len(found) - 1

    def condition(holds):
        return -1 if holds is None else count_placed(words, pack_words(holds))

    def row(form):
        return -1 if form[2] is None else count_placed(rows, np.asarray(form[2], np.float64))

    def session(ask):
        if ask.session is None:
            return -1
        clock = session_clock(bars, ask)
        return count_placed(sessions, session_exits(clock.local_ns, clock.minute_ns, clock.bar_ns))

    parts = [(ask.stops, ask.targets, ask.trails) for ask in asks]
    entries = [[condition(entry) for entry in ask.entries] for ask in asks]
    exits = [[condition(entry) for entry in ask.exits] for ask in asks]
    reads = [[[row(form) for form in pair] for pair in three] for three in parts]
    numbers = [
        [*([form[1] for form in pair] for pair in three), list(ask.after)]
        for three, ask in zip(parts, asks, strict=True)
    ]
    session_of = [session(ask) for ask in asks]
    n = len(bars)
    rows = np.array(rows, np.float64).reshape(-1, n)
    reads = np.array(reads, np.int64)
    by_side = np.ascontiguousarray(np.array(numbers, np.float64).transpose(0, 2, 1))
    # A leaf each: a row, or where none is read an unread number.
    addresses = np.where(reads < 0, 0, rows.ctypes.data + 8 * n * reads).reshape(len(asks), 6)
    population = CodedPopulation(
        words=np.array(words or np.zeros((1, (n + 63) // 64)), np.uint64),
        steps=np.array([[LEAF, leaf] for leaf in range(6)], np.int64),
        spans=np.array([[leaf, leaf + 1] for leaf in range(6)], np.int64),
        rows=addresses,
        leaves=np.zeros((len(asks), 6)),
        sessions=np.array(sessions or np.zeros((1, n)), np.int64),
        forms=np.array([[form[0] for form in pair] for pair in parts[0]], np.int64),
        entries=np.array(entries, np.int64),
        exits=np.array(exits, np.int64),
        numbers=by_side.reshape(-1, 4),
        break_even=np.array([ask.break_even for ask in asks], np.float64),
        max_hold=np.array([ask.max_hold for ask in asks], np.int64),
        delay=np.array([ask.delay for ask in asks], np.int64),
        warm_up=np.array([ask.warm_up for ask in asks], np.int64),
        session_of=np.array(session_of, np.int64),
    )
    return population, rows, reads


def by_cpu(bars, asks, costs, windows, threads=1):
    """Accumulators [P, W, A] and ledgers [P][W] of individuals that share forms."""
    prices = build_extremes(bars.open, bars.high, bars.low, bars.close)
    population, rows, _ = build_population(bars, asks)
    charges = Charges(costs.per_side, costs.min_risk, costs.risk_fraction)
    inputs = prices, population, charges, np.array(windows, np.int64)
    work, accumulators = begin_population(*inputs)
    fold_alone(work, len(accumulators), THREADS[threads])
    work, folded = begin_population(*inputs)
    listed = list_trades(work, folded, THREADS[threads])
    trades, _ = collect_trades(listed)
    assert rows.ndim == 2, "rows are there as long as their addresses are read"
    return accumulators, trades.cut(listed.counts, *list_totals(folded))


def everywhere(bars, asks, costs, windows, *, forms, threads=1):
    """Ledgers [P][W] of individuals that share forms, once all engines agree in every bit."""
    accumulators, listed = by_cpu(bars, asks, costs, windows, threads)
    for p, ask in enumerate(asks):
        for w, window in enumerate(windows):
            where = f"individual {p}, window {window}"
            for name, form in forms.items():
                expected = by_reference(bars, ask, costs, window, form)
                problem = compare_ledgers(expected, listed[p][w])
                assert not problem, f"{name}, {where}: {problem}"
                turns, stake = take_turns(len(expected)), plain_stake(costs.risk_fraction)
                folded = fold_ledger(form, expected, turns, stake)
                problem = compare_accumulators(folded, accumulators[p, w])
                assert not problem, f"{name}, {where}: {problem}"
    return listed


@st.composite
def jumping_markets(draw, max_length=400):
    """Markets some of whose bars open far from the close before, on a coarse grid."""
    bars, seed = draw(markets(max_length)), draw(st.integers(0, 2**32))
    share, scale = draw(st.sampled_from([0.0, 0.05, 0.5])), draw(st.sampled_from([0.002, 0.1]))
    return jumping(bars, seed, share, scale)


def jumping(bars, seed, share=0.05, scale=0.1):
    """The same bars, a share of which open far from the close before, on a coarse grid."""
    rng = np.random.Generator(np.random.PCG64(seed))
    jumps = rng.random(len(bars)) < share
    moved = np.rint(bars.open * rng.normal(1.0, scale, len(bars)))
    opened = np.where(jumps & (moved > 0), moved, bars.open)
    high, low = np.maximum(bars.high, opened), np.minimum(bars.low, opened)
    return replace(bars, open=opened, high=high, low=low)


STOPS, TARGETS, TRAILS = (
    (BEYOND_BAR, FROM_ENTRY, SHARE, LEVEL),
    (NONE, R_MULTIPLE, FROM_ENTRY, SHARE, LEVEL),
    (NONE, NONE, FROM_ENTRY, SHARE),
)


@st.composite
def asks(draw, bars, most=3):
    """Individuals that share forms, in any mixture of them; some rules off, some in every bar."""
    rng = np.random.Generator(np.random.PCG64(draw(st.integers(0, 2**32))))
    chosen = [[draw(st.sampled_from(kinds)) for _ in "ls"] for kinds in (STOPS, TARGETS, TRAILS)]
    count = draw(st.integers(1, most))
    return [_ask(draw, rng, bars, chosen) for _ in range(count)]


def _ask(draw, rng, bars, chosen):
    n, share = len(bars), st.sampled_from([0.0, 0.02, 0.2, 0.7, 1.0])

    def condition(frequency):
        return rng.random(n) < frequency

    def exits():
        return draw(st.sampled_from([None, 0.02, 0.3, 1.0]))

    stops, targets, trails = (
        tuple(_form(draw, rng, bars, kind, side) for kind, side in zip(pair, signs, strict=True))
        for pair, signs in zip(chosen, ((1, -1), (-1, 1), (1, -1)), strict=True)
    )
    conditions = (exits(), exits())
    minute = draw(st.sampled_from([1, 300, 720, 1195, 1440]))
    offset = draw(st.sampled_from([0, 330, -300, 840, -840]))
    return Ask(
        entries=(condition(draw(share)), condition(draw(share))),
        exits=tuple(
            None if condition_number is None else condition(condition_number)
            for condition_number in conditions
        ),
        stops=stops,
        targets=targets,
        trails=trails,
        after=(draw(st.sampled_from([0.0, 0.5, 2.0])), draw(st.sampled_from([0.0, 1.0]))),
        break_even=draw(st.sampled_from([float("nan"), float("nan"), 0.0, 0.5, 1.0])),
        max_hold=draw(st.sampled_from([0, 0, 1, 2, 7, 60])),
        delay=draw(st.sampled_from([0, 0, 1, 2, 9])),
        session=draw(st.sampled_from([None, (minute, offset)])),
        warm_up=draw(st.sampled_from([0, 0, 5, 100])),
    )


def _form(draw, rng, bars, kind, side):
    """A form with numbers that make trades, on a grid that makes ties, some of them unknown.

    `side` is 1 where a level belongs below prices and -1 where it belongs above.
    """
    n, number, row = len(bars), 0.0, None
    if kind == SHARE:
        number = draw(st.sampled_from([0.001, 0.01, 0.1, 1.0, 1.5]))
    if kind == R_MULTIPLE:
        number = draw(st.sampled_from([0.25, 1.0, 3.0]))
    if kind in (BEYOND_BAR, FROM_ENTRY, LEVEL):
        scale = draw(st.sampled_from([0.002, 0.02, 0.2]))
        away = np.rint(np.abs(rng.normal(0, scale, n)) * bars.close * 100) / 100
        away[rng.random(n) < draw(st.sampled_from([0.0, 0.1]))] *= -1.0
        away[rng.random(n) < draw(st.sampled_from([0.0, 0.1]))] = np.nan
        row = bars.close - side * away if kind == LEVEL else away
    return kind, number, row
