"""Array types and the small records that the compiled stages hand to each other."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]


class Entry(NamedTuple):
    """The entry conjunction as arrays; columns refer to rows of the spec and genes.

    Args:
        genes: [C, 3] int64: row, gene, 1 for ``>`` and 0 for ``<``; decided on codes.
        scales: [C, 2] float64: low and scale of the row's codes.
        pairs: [D, 3] int64: left row, right row, 1 for ``>`` and 0 for ``<``; decided on codes.
        exact: [E, 3] int64: the same, for rows whose codes have different maps.
    """

    genes: Ints
    scales: Floats
    pairs: Ints
    exact: Ints


class Exits(NamedTuple):
    """The bracket and the costs as numbers; the first four are columns, not values.

    Args:
        stop_row: Row of the spec that measures the stop's distance.
        stop_mult: Gene.
        reward: Gene.
        max_hold: Gene.
        per_side: Cost of a side as a fraction of notional.
        min_risk: Fraction of the entry price.
        risk_fraction: Fraction of equity per R.
    """

    stop_row: int
    stop_mult: int
    reward: int
    max_hold: int
    per_side: float
    min_risk: float
    risk_fraction: float


class Market(NamedTuple):
    """One series on the device.

    Args:
        open: [T].
        high: [T].
        low: [T].
        close: [T].
        rows: [slots, T] float64, the bank's rows.
        codes: [slots, T] uint8, codes of the rows that the entry compares.
    """

    open: Floats
    high: Floats
    low: Floats
    close: Floats
    rows: Floats
    codes: Codes
