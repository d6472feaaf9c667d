"""All signals of several individuals in several windows, and what accounts with limits take."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from data.bars import Window
from engine.accounts.cpu.limiting import COUNTED, Admitted, Asks, admit
from engine.accounts.ledger import Ledger
from engine.accounts.limits import AccountLimits
from engine.accounts.results import Results, arrange_results, split_accounts
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Ints


class SeriesSignals(NamedTuple):
    """Signals [k] of individuals [P] in some windows of one series."""

    windows: Ints  # [w] their numbers
    trades: Ledger  # individual after individual, window after window
    counts: Ints  # [P, w]
    asks: Asks
    exit_ns: Ints  # when the exit bar opens


class ListedSignals(NamedTuple):
    """Signals [K] of individuals [P] in all windows [W]."""

    trades: Ledger
    asks: Asks
    exit_ns: Ints
    firsts: Ints  # [P, W] place of each one's first signal in each window
    counts: Ints  # [P, W] how many there are

    def admit(self, windows: Sequence[Window], limits: AccountLimits, threads: Threads) -> Admitted:
        """Answers of each individual's account; held-out windows are another account."""
        answers = Admitted(
            np.zeros(len(self.exit_ns), np.bool_),
            np.zeros(len(self.exit_ns)),
            self.asks.leverage,
            np.zeros((*self.counts.shape, len(COUNTED)), np.int64),
        )
        for some in split_accounts(windows):
            order = sorted(some, key=lambda number: (windows[number].series, windows[number].start))
            counts = self.counts[:, order]
            signals = list_places(self.firsts[:, order], counts)
            columns: Any = [column[signals] for column in self.asks]
            asks = Asks(*columns)
            series = [windows[number].series for number in order]
            begins = np.flatnonzero(np.diff(series, prepend=-1))
            # Signals before each strand's first window, and all, of each individual.
            before = np.pad(counts.cumsum(axis=1), ((0, 0), (1, 0)))
            # In the order of others: for another one loops would be compiled once more.
            firsts = before.take([*begins, len(order)], axis=1)
            firsts += np.pad(before[:-1, -1].cumsum(), (1, 0))[:, None]
            part = admit(asks, firsts, limits, len(windows), threads)
            answers.taken[signals], answers.gross[signals] = part.taken, part.gross
            answers.counts[...] += part.counts
        return answers

    def arrange(self, answers: Admitted) -> Results:
        """Results of taken signals."""
        chosen, counts = self._choose(answers)
        trades = self.trades
        return arrange_results(counts, self.exit_ns[chosen], trades.r[chosen], trades.side[chosen])

    def cut(self, answers: Admitted) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each individual."""
        chosen, counts = self._choose(answers)
        columns: Any = {name: column[chosen] for name, column in self.trades.columns().items()}
        columns["gross"] = answers.gross[chosen][:, None]
        nothing = np.zeros_like(counts)
        rejected, skipped, coarse = np.moveaxis(answers.counts, 2, 0)
        return Ledger(**columns).cut(counts, rejected, nothing, nothing, coarse, skipped)

    def _choose(self, answers: Admitted) -> tuple[Ints, Ints]:
        """Places of taken signals, window after window, and their number [P, W]."""
        signals = list_places(self.firsts, self.counts)
        taken = np.pad(answers.taken.cumsum(), (1, 0))
        before, until = taken[self.firsts], taken[self.firsts + self.counts]
        return signals[answers.taken[signals]], until - before


def list_places(firsts: Ints, counts: Ints) -> Ints:
    """Places of all signals, individual after individual and window after window.

    >>> list_places(np.array([[4, 0]]), np.array([[2, 3]])).tolist()
    [4, 5, 0, 1, 2]
    """
    flat = counts.ravel()
    ends: Ints = flat.cumsum()
    shifts = firsts.ravel() - (ends - flat)
    signals: Ints = np.arange(flat.sum())
    signals += np.repeat(shifts, flat)
    return signals


def join_signals(parts: Iterable[SeriesSignals], n_windows: int) -> ListedSignals:
    """Signals of all series as one."""
    listed = list(parts)
    firsts = np.zeros((len(listed[0].counts), n_windows), np.int64)
    counts = np.zeros_like(firsts)
    begin = 0
    for part in listed:
        ends = part.counts.cumsum().reshape(part.counts.shape)
        firsts[:, part.windows], counts[:, part.windows] = begin + ends - part.counts, part.counts
        begin += len(part.exit_ns)
    columns = [part.trades.columns() for part in listed]
    trades: Any = {
        name: np.concatenate([column[name] for column in columns]) for name in columns[0]
    }
    joined: Any = map(np.concatenate, zip(*(part.asks for part in listed), strict=True))
    exit_ns = np.concatenate([part.exit_ns for part in listed])
    return ListedSignals(Ledger(**trades), Asks(*joined), exit_ns, firsts, counts)
