"""Accounts with limits on the CUDA backend under Triton's interpreter, against the CPU.

    python -m tests.support.interpreted_limits cpu [SEED ...]

Run as a program of its own with TRITON_INTERPRET=1, because the interpreter is chosen when Triton
is imported; without seeds one drawn account is compared as a whole. Prints what it compared; ends
with an assertion where bits differ.
"""

import sys
from types import SimpleNamespace

import numpy as np
import torch

from engine.accounts.costs import Costs
from engine.accounts.cpu.limiting import NO_TRADE, Asks, admit
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.accounts.limits import build_limits
from engine.batch import Engine
from engine.cuda import accounts
from engine.cuda.accounts import WordAccounts
from engine.cuda.answering import upload_limits
from engine.cuda.ordering import lay_out_series
from engine.cuda.signal_lists import SignalLists
from engine.indicators.cuda.market import upload_prices
from engine.runtime.cpu.threads import Threads
from engine.runtime.cuda.types import MetWindows
from tests.support.interpreted_words import LIMITED, assert_same_ledgers, whole
from tests.support.interpreter import repeat_nothing
from tests.support.limited import draw_plain_account
from tests.support.parity import assert_same_accounts, assert_same_bits
from tests.support.worlds import make_bars

HOST = torch.device("cpu")

SIGNAL, REVERSE, SESSION = (REASONS.index(name) for name in ("signal", "reverse", "session"))

SKIPPED, MAX_LEVERAGE, COARSE = (
    ACCUMULATOR_INDEX[name] for name in ("skipped", "max_leverage", "coarse")
)

LEAVES = (*range(SESSION + 1), REVERSE, NO_TRADE)
"""How a position ends; in place of a reversal, which there is none of, by the clock at an open."""

RANKS = (np.nan, -np.inf, -0.0, 0.0, 1.0, np.inf)

N_WORLDS, N_MEMBERS, CAPACITY = 14, 5, 64


def draw_asks(rng, times, bar_ns, ranks, windows):
    """Signals of a strand with whatever may come of them, and the places of windows."""
    rows = []
    for window, (start, end) in enumerate(windows):
        for bar in np.flatnonzero(rng.random(end - start - 2) < rng.choice([0.1, 0.5])) + start:
            reason = int(rng.choice(LEAVES))
            leave = int(rng.integers(bar + 1 + (reason == SIGNAL), end))
            over = times[leave] + (0 if reason == SIGNAL else bar_ns)
            leverage, side = rng.choice([0.1, 0.2, 0.3, 0.7, 1.9]), rng.choice([1, -1])
            rows.append((bar, leave, 0, reason, side, times[bar + 1], over, leverage, ranks[bar],
                         window, 0, 0))  # fmt: skip
    columns = np.array(rows, object).reshape(-1, len(Asks._fields)).T
    kinds = [np.float64 if name in ("leverage", "rank") else np.int64 for name in Asks._fields]
    return Asks(*(column.astype(kind) for column, kind in zip(columns, kinds, strict=True)))


def compare_answers(seed):
    """Lists of signals that no strategy made, as accounts answer them; gives how many are taken."""
    rng = np.random.Generator(np.random.PCG64(seed))
    series = [make_bars(seed + n, int(rng.integers(8, 50)), gaps=0.1) for n in range(1 + seed % 7)]
    windows = np.array(
        [
            (number, *span)
            for number, bars in enumerate(series)
            # In the order of time, as a strand has them.
            for span in ((0, 5), (5, len(bars)))[-rng.integers(1, 3) :]
        ]
    )
    costs = Costs(
        max_positions=int(rng.integers(1, 5)) if rng.random() < 0.6 else None,
        max_leverage=float(rng.choice([0.6, 2.0, 9.0])),
        rank="close" if seed % 2 else None,
    )
    ranks = [rng.choice(RANKS, len(bars)) for bars in series]
    axis = lay_out_series(series, HOST)
    rows = [SimpleNamespace(values=lambda rank, genes, of=of: of) for of in ranks]
    delays = (0,) if costs.rank else (-1,)
    limits = upload_limits(axis, draw_plain_account(0)[0], costs, series, delays, lambda: rows)
    prices = [upload_prices(bars, HOST) for bars in series]
    device = WordAccounts(prices, axis, np.zeros(3), HOST, limits)
    pairs, n_windows = N_MEMBERS * len(windows), len(windows)
    lists = SignalLists.empty(pairs, CAPACITY, HOST, keeps=True, has_limits=True, has_finer=False,
                              most=whole([0]))  # fmt: skip
    table = whole(windows)
    table[:, 1:] += whole(axis.starts[windows[:, 0], None])
    table[:, 0] = whole(axis.starts[windows[:, 0]])
    drawn = []
    for member in range(N_MEMBERS):
        for number, bars in enumerate(series):
            (places,) = np.nonzero(windows[:, 0] == number)
            known = ranks[number] if costs.rank else np.zeros(len(bars))
            spans = windows[places, 1:]
            asks = draw_asks(rng, bars.timestamp, bars.timeframe_ns, known, spans)
            drawn.append(asks._replace(window=asks.window + places[0]))
            for place in places:
                fill_lists(lists, member * n_windows + place, drawn[-1], place)
    each = SimpleNamespace(
        size=whole([N_MEMBERS]), bars=torch.zeros((N_MEMBERS, 3), dtype=torch.int32)
    )
    out = torch.zeros((pairs, len(ACCUMULATOR_INDEX)), dtype=torch.float64)
    device._answer(limits, each, MetWindows(table), lists, out, n_windows, keeps=True)
    step = len(series)
    return sum(
        compare_member(lists, out, drawn[member * step : (member + 1) * step], member, n_windows,
                       costs)
        for member in range(N_MEMBERS)
    )  # fmt: skip


def fill_lists(lists, pair, asks, window):
    """Put the signals of a window into the lists of a pair."""
    some = asks.window == window
    size = int(some.sum())
    lists.counts[pair], lists.marks[pair] = size, -1
    leave = np.where(asks.reason < 0, -1, 8 * asks.exit_bar + asks.reason)
    columns = 2 * asks.signal_bar + (asks.side < 0), leave, asks.leverage
    for tensor, column in zip((lists.marks, lists.leaves, lists.leverages), columns, strict=True):
        tensor[pair, :size] = torch.from_numpy(column[some])


def compare_member(lists, out, strands, member, n_windows, costs):
    """What kernels say of one account, and the loops; gives how many signals are taken."""
    firsts = np.cumsum([0, *(len(asks.rank) for asks in strands)])
    joined = Asks(*map(np.concatenate, zip(*strands, strict=True)))
    # As the CPU has it: by the clock, whether at an open or not.
    joined = joined._replace(reason=np.where(joined.reason == REVERSE, SESSION, joined.reason))
    answers = admit(joined, firsts[None], build_limits(costs), n_windows, Threads(1))
    for window in range(n_windows):
        pair, some = member * n_windows + window, joined.window == window
        taken = answers.taken[some]
        count = int(lists.trades[pair])
        assert_same_bits(np.flatnonzero(taken), lists.places[pair, :count].long(), "taken")
        gross = answers.gross[some][taken]
        assert_same_bits(gross, lists.gross[pair, :count], "gross")
        assert int(lists.rejected[pair]) == answers.counts[0, window, 0]
        assert int(out[pair, SKIPPED]) == answers.counts[0, window, 1]
        most = (gross + joined.leverage[some][taken]).max(initial=0.0)
        assert float(out[pair, MAX_LEVERAGE]) == most
    return int(answers.taken.sum())


def compare_account(seed, *, is_finer):
    """A drawn account as a whole: accumulators, ledgers, results; gives the sums."""
    strategy, genomes, *world = draw_plain_account(seed, is_finer=is_finer)
    host, device = (Engine(strategy, *world, device=chosen) for chosen in ("cpu", LIMITED))
    assert_same_accounts(host, device, genomes)
    for left, right in zip(host.ledgers(genomes), device.ledgers(genomes), strict=True):
        assert_same_ledgers(left, right, f"seed {seed}")
    expected = host.evaluate(genomes)
    assert_same_bits(expected[:1], device.evaluate(genomes[:1]), f"seed {seed}")
    return expected.sum((0, 1))


def main():
    """Compare answers, then accounts of seeds."""
    repeat_nothing()
    accounts.PROGRAMS, accounts.STRETCH = 16, 1
    taken = [compare_answers(seed) for seed in range(N_WORLDS)]
    assert min(taken) > 0
    print(f"answers: {sum(taken)} signals taken, every bit equal")
    for seed in map(int, sys.argv[2:] or ("3",)):
        sums = sum(compare_account(seed, is_finer=is_finer) for is_finer in (False, True))
        assert sys.argv[2:] or min(sums[[0, SKIPPED, MAX_LEVERAGE, COARSE]]) > 0
        print(f"account {seed}: {sums[0]:.0f} trades, every bit equal", flush=True)


if __name__ == "__main__":
    main()
