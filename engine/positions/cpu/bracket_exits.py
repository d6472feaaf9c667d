"""Stage 3, exits: where a position that was entered at a bar ends."""

import numpy as np

from engine.runtime.compiling.loops import compiled_part
from engine.runtime.cpu.types import Market

STOP_GAP, STOP, TARGET, TIME, END = range(5)


@compiled_part
def find_bracket_exit(
    market: Market, entry_bar: int, stop: float, target: float, max_hold: int, end: int
) -> tuple[int, int, float]:
    """First exit of a position, by the law's order within a bar: its bar, reason and price.

    `stop` and `target` are prices, `max_hold` bars; `end` is one past the last bar of the window.
    """
    last = min(entry_bar + max_hold, end) - 1
    # Without a sign, an index is not asked whether it counts from the end.
    for j in range(np.uint64(entry_bar), np.uint64(last + 1)):
        # An open is never below its low, so the gap is a case of the stop.
        if market.low[j] <= stop:
            if market.open[j] <= stop:
                return int(np.int64(j)), STOP_GAP, market.open[j]
            return int(np.int64(j)), STOP, stop
        if market.high[j] >= target:
            return int(np.int64(j)), TARGET, target
    reason = TIME if last == entry_bar + max_hold - 1 else END
    return last, reason, market.close[last]
