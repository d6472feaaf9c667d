"""Signals that ask one account for room, one after another, as the law has it.

It shares no code with the batch engine.
"""

import math
from collections.abc import Generator, Sequence
from typing import NamedTuple

from engine.accounts.limits import AccountLimits


class Ask(NamedTuple):
    """A signal that asks for room, with what its trade is known to come to."""

    asks_ns: int  # when its entry bar opens
    over_ns: int  # from when on its position is known to be over
    leverage: float  # worth of its position over the account
    rank: float  # greatest first, NaN last


class Permit(NamedTuple):
    """Whether an account has room for a signal."""

    is_taken: bool
    gross: float  # leverage of what other strands have open
    holders: tuple[int, ...]  # numbers of these strands, in the order of taking


class HeldRoom(NamedTuple):
    """An open position, which takes room of others."""

    strand: int
    over_ns: int
    leverage: float


Asking = Generator[Ask, Permit, None]
"""Signals of one strand, each of which counts by whether those before it were admitted."""


def admit_in_turn(
    strands: Sequence[Asking], limits: AccountLimits, held: Sequence[HeldRoom] = ()
) -> None:
    """Admit signals of all strands or not, one after another, until none asks any more.

    `held` are positions that are open before the first asks.
    """
    asks = {number: next(strand, None) for number, strand in enumerate(strands)}
    positions = list(held)
    while True:
        asking = {number: ask for number, ask in asks.items() if ask is not None}
        if not asking:
            return
        number = min(asking, key=lambda strand: find_turn(asking[strand], strand))
        ask = asking[number]
        positions = [each for each in positions if each.over_ns > ask.asks_ns]
        others = [each for each in positions if each.strand != number]
        gross = 0.0
        for other in others:
            gross += other.leverage
        has_room = len(others) < limits.max_positions
        is_taken = has_room and gross + ask.leverage <= limits.max_leverage
        if is_taken:
            positions.append(HeldRoom(number, ask.over_ns, ask.leverage))
        holders = tuple(other.strand for other in others)
        try:
            asks[number] = strands[number].send(Permit(is_taken, gross, holders))
        except StopIteration:
            asks[number] = None


def find_turn(ask: Ask, strand: int) -> tuple[int, bool, float, int]:
    """Order of asking: by time, by rank, by strand."""
    is_unknown = math.isnan(ask.rank)
    return ask.asks_ns, is_unknown, 0.0 if is_unknown else -ask.rank, strand
