"""The way of a population to a backend: its rows are looked up, or computed first."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from data.bars import Window
from engine.accounts.ledger import ACCUMULATORS
from engine.backend import Backend, Sent, Slots, StretchedRows
from engine.errors import EngineError
from engine.fast_case import FastCase
from engine.indicators.plan import bring_in_parts, group_rows, order_individuals
from engine.indicators.row_bank import RowBank
from engine.pairs import Wait
from engine.validate import GenomeValidator
from strategy.genes import Floats

PART_INDIVIDUALS = 16_384
"""Individuals that are handed to a device at a time: while it works on a part, the next one is
checked and looked up."""

PART_PAIRS = 131_072  # that are handed over at a time, where windows are many: results of 25 MB

PARTS_THAT_PAY = 2
"""Populations with more rows than so many banks hold are evaluated a stretch of bars at a time."""


class Sender:
    """Sends populations to a backend, part after part.

    Args:
        case: The strategy.
        backend: Evaluates.
        bank: Rows that are there.
        validator: Refuses genomes that are not legal.
        chunk: Most individuals that are evaluated together; all that fit when None.
    """

    def __init__(
        self,
        case: FastCase,
        backend: Backend,
        bank: RowBank,
        validator: GenomeValidator,
        chunk: int | None,
    ) -> None:
        self._case, self._backend, self._bank = case, backend, bank
        self._validator, self._chunk = validator, chunk

    def with_backend(self, backend: Backend) -> "Sender":
        """The same to another backend, which has the rows too."""
        return Sender(self._case, backend, self._bank, self._validator, self._chunk)

    def begin(self, genomes: Floats, windows: Sequence[Window], own: Slots | None = None) -> Wait:
        """Begin to evaluate genomes [P, G]; the returned call waits for accumulators [P, W, A].

        `own` are numbers [P, W] of the windows that each individual meets; without them all meet
        all.

        Raises:
            GenomeError: When a genome is not legal.
        """
        return self._begin(_make_room(genomes, windows, own))

    def evaluate_account(
        self, genomes: Floats, windows: Sequence[Window], own: Slots | None = None
    ) -> tuple[Floats, Floats]:
        """The same accumulators, and [P, A] of all windows as one account, folded by the device.

        Raises:
            GenomeError: When a genome is not legal.
        """
        account = np.empty((len(genomes), len(ACCUMULATORS)))
        sent = _make_room(genomes, windows, own)._replace(account=account)
        return self._begin(sent)(), account

    def _begin(self, sent: Sent) -> Wait:
        individuals, n_windows = sent.out.shape[:2]
        step = self._chunk or max(1, min(PART_INDIVIDUALS, PART_PAIRS // n_windows))
        parts = [slice(begin, begin + step) for begin in range(0, individuals, step)]
        waits: list[Callable[[], bool]] = []
        for part in parts:
            wait = self._begun_part(sent, part)
            if wait is None:
                return partial(self._evaluate_chunks, sent)
            waits.append(wait)
        return partial(self._finish, sent, parts, waits)

    def _finish(
        self, sent: Sent, parts: Sequence[slice], waits: Sequence[Callable[[], bool]]
    ) -> Floats:
        """Wait for begun parts; refused ones are looked up here."""
        # All are waited for, also after a refusal: begun work is never left alone.
        is_done = [wait() for wait in waits]
        for part, done in zip(parts, is_done, strict=True):
            if done:
                continue
            again = self._looked_up(sent, part)
            if again is None:
                return self._evaluate_chunks(sent)
            again()
        return sent.out

    def _begun_part(self, sent: Sent, part: slice) -> Callable[[], bool] | None:
        """Start to evaluate a part; None where the rows of all do not fit the bank together."""
        begun = None
        if self._bank.capacity > len(self._bank):
            # Which rows a device looked up is not known here, as a full bank would have to.
            begun = self._start(sent.of(part), None)
        return begun or self._looked_up(sent, part)

    def _looked_up(self, sent: Sent, part: slice) -> Callable[[], bool] | None:
        """The same, with legality and rows looked up here, and missing rows computed."""
        some = sent.of(part)
        members = self._validator.require_legal(some.genomes)
        slots = self._bank.find(members)
        if slots is None:
            brought = self._bank.bring(self._validator.require_legal(sent.genomes))
            if brought is None:
                return None
            slots = brought[part]
        return self._start(some._replace(genomes=members), slots)

    def _start(self, sent: Sent, slots: Slots | None) -> Callable[[], bool] | None:
        """Start to evaluate; None where rows are needed that the device does not look up."""
        if sent.own is not None and not self._backend.meets_own:
            raise EngineError(f"on {self._backend.name} all individuals meet the same windows")
        return self._backend.begin(sent, slots)

    def _evaluate_chunks(self, sent: Sent) -> Floats:
        """Evaluate a population with rows that do not fit the bank together."""
        genomes, windows, own, out, account = sent
        is_plain = own is None and account is None
        if is_plain and self._try_evaluate_tiles(genomes, windows, out):
            return out
        for members, slots in bring_in_parts(self._case, self._bank, genomes, self._chunk):
            # Arrays of their own: members are not side by side.
            some = sent.of(members)
            wait = self._start(some, slots)
            assert wait is not None
            wait()
            out[members] = some.out
            if account is not None:
                account[members] = some.account
        return out

    def _try_evaluate_tiles(self, genomes: Floats, windows: Sequence[Window], out: Floats) -> bool:
        """Evaluate with all rows for a stretch of bars at a time, where the device can and it pays.

        Up to `PARTS_THAT_PAY` parts that fit keep their rows in the bank for the next call.
        """
        names, row_of = self._bank.list_distinct(genomes)
        if len(names) <= PARTS_THAT_PAY * self._bank.capacity:
            return False
        in_order = np.empty_like(out)
        # Neighbours share rows.
        order, requests = order_individuals(self._case, genomes), group_rows(names)
        rows = StretchedRows(genomes[order], len(names), requests, row_of[order])
        if not self._backend.evaluate_in_stretches(rows, windows, in_order):
            return False
        self._bank.clear()
        out[order] = in_order
        return True


def _make_room(genomes: Floats, windows: Sequence[Window], own: Slots | None) -> Sent:
    """Individuals to send, and room for their accumulators."""
    n_windows = len(windows) if own is None else own.shape[1]
    out = np.empty((len(genomes), n_windows, len(ACCUMULATORS)))
    return Sent(genomes, windows, own, out, None)
