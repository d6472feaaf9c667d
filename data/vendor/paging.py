"""Pages of bars to all bars of a range, from any kind of exchange.

Exchanges answer from the front of a range or with its end, with fewer bars than requested, with or
without the bars at either bound, newest first, twice, or not at all. The next page begins behind
the last bar that came. Where a page begins later, or is empty, bars before it may exist. Then
smaller ranges, ranges that begin a bar earlier and ranges that end there are requested, until an
answer covers the part.
"""

from collections.abc import Callable, Iterator

import numpy as np

from data.checks import Floats, format_time
from data.errors import FetchError

MANY_PAGES = 64
"""Empty pages in a row above which days show where bars are."""

SURE = 3
"""Answers of a kind that show an exchange to answer in this way."""

MOST_SHIFTS = 8
"""Ranges that are tried until one ends where it should."""

LEAST = 3
"""A range of two bars may hold none: where neither bound belongs to it."""

HOUR_MS = 3_600_000
NONE: Floats = np.empty((0, 6))


Ask = Callable[[int, int, int | None], Floats]
"""A call for a page: the first time (milliseconds UTC), the most bars, and a last time that may be
ignored, to bars [N, 6] in any order: time, open, high, low, close and volume."""


class PageReader:
    """All bars of a range, page by page; it learns from answers how much one holds.

    Args:
        ask: The call for a page.
        step_ms: Duration of a bar.
        limit: Bars that the exchange says it gives at most.
        days: Reader of the same market's days, which show where bars are; None without.
        is_last: Whether the last answer says itself that nothing follows it; None where answers
            do not say. An exchange whose answers do gives all bars from the front of a range.
    """

    def __init__(
        self,
        ask: Ask,
        step_ms: int,
        limit: int,
        days: "PageReader | None" = None,
        is_last: Callable[[], bool] | None = None,
    ) -> None:
        self._ask_once, self._step, self._days = ask, step_ms, days
        self._limit, self._is_last = max(limit, LEAST), is_last
        self._most = 0  # most bars of an answer: so many always fit
        self._far = 0  # bars that a range of the limit surely reaches
        self._reach = 0  # largest limit with an answer that began in the right place
        self._lead = 0  # bars by which a range begins earlier, as its first bar does not come
        self._has_first = False  # whether an answer held the bar at which its range begins
        # Answers that came from the front of a range without an end.
        self._front = 0.0 if is_last is None else np.inf
        self._has_looked_ahead = False
        self._days_from = 0  # days before this time say nothing new
        self._next = np.inf  # earliest bar that is known to lie ahead

    def pages(self, start_ms: int, end_ms: int) -> Iterator[Floats]:
        """Bars [N, 6] that open in a range, ascending, each once; N may be 0.

        Raises:
            FetchError: When two bars of one time differ: which of them holds is not known.
        """
        at = start_ms
        while at < end_ms:
            rows, at = self._read(at, end_ms)
            yield rows[rows[:, 0] < end_ms]

    def _read(self, at: int, end: int) -> tuple[Floats, int]:
        """Bars from a time on, and the time up to which there are no others."""
        self._next = np.inf
        rows = NONE
        for _ in range(2):
            # An empty or late answer may be an old one: the request is repeated.
            most = self._most
            answer = self._from(at, self._lead, self._limit)
            rows = answer if len(answer) else rows
            if self._is_last and self._is_last():
                return rows, end
            if self._is_settled(at, answer, most):
                return rows, self._behind(rows)
        if len(rows) and rows[-1, 0] > at + self._limit * self._step:
            return self._read_back(at, rows)
        if self._look_ahead(at, end, rows):
            return self._read(at, end)
        if len(rows) == 0:
            behind = self._skip_days(at, end)
            is_known = self._limit <= self._reach and self._knows_first
            if behind == at and is_known and self._surely:
                behind = int(min(at + self._surely * self._step, self._next))
            if behind > at:
                return rows, behind
        elif behind := self._find_empty(at, int(rows[0, 0])):
            return NONE, behind
        return self._look_closely(at)

    @property
    def _knows_first(self) -> bool:
        return self._has_first or self._lead > 0 or self._most == 0

    @property
    def _surely(self) -> int:
        """Bars that an empty answer shows not to be; some ranges are half as long as stated."""
        return max(self._limit // 2 - 1, min(self._limit, self._far) - self._lead)

    def _is_settled(self, at: int, rows: Floats, most: int) -> bool:
        """True if no bar lies between a time and the first that came."""
        if len(rows) == 0:
            return False
        is_within = rows[-1, 0] <= at + self._limit * self._step
        is_whole = is_within and self._knows_first and self._limit <= self._reach
        return self._is_on_time(at, rows) or self._front >= SURE or (is_whole and len(rows) < most)

    def _is_on_time(self, at: int, rows: Floats) -> bool:
        return len(rows) > 0 and bool(rows[0, 0] < at + self._step)

    def _behind(self, rows: Floats) -> int:
        """The time at which the next bar may open, be they closer than they should or not."""
        closest = np.diff(rows[:, 0]).min(initial=self._step)
        return int(rows[-1, 0] + closest)

    def _look_ahead(self, at: int, end: int, rows: Floats) -> bool:
        """Learn from a bar that lies ahead how ranges begin; whether it is a bar early."""
        if self._has_looked_ahead or self._limit <= self._reach:
            return False
        self._has_looked_ahead = True
        stride = self._limit * self._step
        while len(rows) == 0 and at + stride < end:
            rows = self._from(at + stride, self._lead, self._limit)
            stride *= 2
        if len(rows) == 0:
            # The only bar may be the one at which the range begins.
            if self._is_on_time(at, self._from(at, 1, self._limit)):
                self._lead = 1
                return True
            self._reach = self._limit
            return False
        first = int(rows[0, 0])
        leads = (
            lead for lead in (0, 1) if self._is_on_time(first, self._from(first, lead, self._limit))
        )
        self._lead = next(leads, self._lead)
        return self._lead > 0

    def _find_empty(self, at: int, first: int) -> int:
        """A time up to which no bar lies before a first one; 0 where there may be one."""
        bars = (first - at) // self._step - 1
        leads = [self._lead] if self._knows_first else [0, 1]
        if bars < LEAST or any(len(self._from(at, lead, bars + lead)) for lead in leads * 2):
            return 0
        return at + min(bars - 1, max(self._surely, 1)) * self._step

    def _look_closely(self, at: int) -> tuple[Floats, int]:
        """Bars of a range that surely fits an answer, requested with all bounds."""
        width = max(self._most - 1, 1)
        forms = [(0, width + 1), (0, width)] * (self._lead == 0)
        forms += [(1, width + 2), (1, width + 1), (1, width)]
        found = [NONE]
        for lead, limit in forms * 2:
            rows = self._from(at, lead, limit)
            if self._is_on_time(at, rows):
                if lead == self._lead and limit < self._limit:
                    self._limit, self._far = limit, 0
                self._lead = lead
                return rows, self._behind(rows)
            if len(rows) and rows[-1, 0] > at + limit * self._step:
                return self._read_back(at, rows)
            found.append(rows[rows[:, 0] < at + width * self._step])
        if np.isfinite(self._next):
            rows = self._from(at, 1, self._limit, int(self._next) - 1)
            found.append(rows[rows[:, 0] < at + width * self._step])
        return _merge(np.concatenate(found)), at + width * self._step

    def _read_back(self, at: int, rows: Floats) -> tuple[Floats, int]:
        """Bars before those of an exchange that gives the last ones, at any limit."""
        pages, length = [rows], int(rows[-1, 0] - at) // self._step + 1 + self._lead
        while len(rows):
            first = int(pages[-1][0, 0])
            for _ in range(2):
                rows = self._from(at, 0 if self._has_first else 1, self._limit, first - 1)
                rows = rows[rows[:, 0] < first]
                rows = rows if len(rows) else self._from_earlier(at, first, length)
                if len(rows):
                    pages.append(rows)
                    break
        if len(pages) > 1:
            self._front = -np.inf
        elif len(pages[0]) == self._most:
            again = self._from(first, self._lead, self._limit)
            self._front += np.array_equal(again, pages[0], equal_nan=True)
        return np.concatenate(pages[::-1]), self._behind(pages[0])

    def _from_earlier(self, at: int, first: int, length: int) -> Floats:
        """Bars before a first one, of a range that begins so much earlier that it ends there."""
        lead, rows = (at - first) // self._step + length, NONE
        for _ in range(MOST_SHIFTS):
            rows = self._from(at, lead, self._limit)
            if len(rows) == 0 or rows[0, 0] < first:
                break
            lead += int(rows[-1, 0] - first) // self._step + 1
        rows = rows[rows[:, 0] < first]
        if len(rows) and (missing := int(first - rows[-1, 0]) // self._step - 1):
            # The range may have ended too early.
            nearer = self._from(at, lead - missing, self._limit)
            nearer = nearer[nearer[:, 0] < first]
            rows = nearer if len(nearer) else rows
        return rows

    def _skip_days(self, at: int, end: int) -> int:
        """The time before which days show that there is no bar; `at` where they show nothing."""
        until = int(min(end, self._next))
        pages = (until - at) / self._step / max(self._surely, 1)
        if self._days is None or at < self._days_from or pages < MANY_PAGES:
            return at
        day = self._days._step
        try:
            found = (rows[:, 0] for rows in self._days.pages(at - day, until) if len(rows))
            times = next(found, NONE[:, 0])
        except FetchError:
            times = np.ones(1)  # days are not to be had
        if (times % HOUR_MS).any() or np.diff(times).min(initial=day) < day:
            self._days = None
            return at
        if len(times) == 0:
            return until
        self._days_from = int(times[0]) + 2 * day
        return int(np.clip(times[0] - day, at, until))

    def _from(self, at: int, lead: int, limit: int, until: int | None = None) -> Floats:
        """One answer, from a time on; the requested range begins `lead` bars earlier."""
        since = at - lead * self._step
        answer = _merge(self._ask_once(since, limit, until))
        rows = answer[answer[:, 0] >= since]
        self._most = max(self._most, len(rows))
        if len(rows) and until is None:
            if limit <= self._limit:
                self._far = max(self._far, min(self._most, int(rows[-1, 0] - since) // self._step))
            # An old answer may hold that bar behind others.
            self._has_first |= bool(answer[0, 0] == since)
            if rows[0, 0] < at + self._step:
                self._reach = max(self._reach, limit)
        rows = rows[rows[:, 0] >= at]
        if len(rows):
            self._next = min(self._next, rows[0, 0])
        return rows


def _merge(rows: Floats) -> Floats:
    """Bars [N, 6] in the order of time, each once."""
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    is_again = np.diff(rows[:, 0], prepend=np.nan) == 0
    same = ((rows[1:] == rows[:-1]) | np.isnan(rows[1:]) & np.isnan(rows[:-1])).all(axis=1)
    twice = np.flatnonzero(is_again[1:] & ~same)
    if len(twice):
        at = format_time(int(rows[twice[0], 0]) * 10**6)
        raise FetchError(f"two bars of {at} differ, and which of them holds is not known")
    once: Floats = rows[~is_again]
    return once
