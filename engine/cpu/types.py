"""Array types and the small records that the compiled stages hand to each other."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]


class Market(NamedTuple):
    """One series on the device.

    Args:
        open: [T].
        high: [T].
        low: [T].
        close: [T].
        rows: [slots, T] float64, the bank's rows.
        codes: [slots, T] uint8, codes of the rows that the entry compares.
        warm_ups: [slots] bars before the first that may signal, of each row.
    """

    open: Floats
    high: Floats
    low: Floats
    close: Floats
    rows: Floats
    codes: Codes
    warm_ups: Ints
